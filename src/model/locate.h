#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/schedule.h"

// Who is slow: from the bandwidths of many pairs of hosts to hosts, NICs, links and leaf uplinks.
// Pure; the same code is driven by measurements and by simulated fleets. docs/methods/locate.md
// says how it decides.
namespace cb {

// Hosts with the same number of rails (NICs in the same position). leaf[host * rails + rail] is the
// switch that the NIC hangs on; empty where the topology is not known, and then no uplink can be
// named.
struct FleetShape {
  int hosts = 0;
  int rails = 1;
  std::vector<int> leaf = {};

  int leaf_of(int host, int rail) const;  // −1: not known
  size_t nics() const { return static_cast<size_t>(hosts) * static_cast<size_t>(rails); }
  size_t nic(int host, int rail) const {
    return static_cast<size_t>(host) * static_cast<size_t>(rails) + static_cast<size_t>(rail);
  }
};

// One measured transfer from a host to another over one rail, in any unit where more is better.
struct PairSample {
  int from = 0;
  int to = 0;
  int rail = 0;
  double value = 0;
  bool alone = false;  // nothing else ran at the same time
};

enum class SuspectKind {
  host,
  nic,
  link,
  uplink,
  inside,  // the ranks of a host among themselves
  rail     // ranks of the same place on their hosts
};
enum class Side { both, transmit, receive };

struct Suspect {
  SuspectKind kind = SuspectKind::host;
  int host = -1;       // host, nic, inside; the sender of a link
  int rail = -1;       // nic, link, rail
  int peer = -1;       // the receiver of a link
  int leaf = -1;       // uplink
  int peer_leaf = -1;  // uplink: the only other leaf, when both ends look the same from outside
  Side side = Side::both;
  double share = 1;             // its median over what the fleet reaches
  size_t low = 0, samples = 0;  // how many of its samples are low
  double confidence = 0;        // 1 − probability that noise alone gives this share
  bool congestion = false;      // slow only together with others, fine alone
};

struct LocateOptions {
  double tolerance = 0.025;  // less below the fleet is nobody's fault
  double sigmas = 5;         // and it must stand out of the noise by this
};

struct Located {
  std::vector<Suspect> suspects;  // worst first
  std::vector<HostPair>
      retest;        // pairs whose single samples are low without a slow end: measure these again
  double noise = 0;  // standard deviation of one sample, robust, as a share
};

// Decides from all samples so far. Link suspects need three samples of the same pair and rail
// (retest gives them).
Located locate(const FleetShape& fleet, const std::vector<PairSample>& samples,
               const LocateOptions& options = {});

// The rounds of the quick survey: ⌈log2 n⌉ + 8 rounds across the fleet, and 6 within the leaves
// where they are known. At 1,024 hosts 24 rounds.
std::vector<Round> quick_survey(const FleetShape& fleet, uint64_t seed);

// Pairs to be measured alone, one after another, to confirm what was located: every suspect host
// and NIC with two hosts that are none, both ways; every link and every pair of located.retest;
// across every suspect uplink; and one pair of sound hosts, both ways, to compare with. Nothing if
// there is no suspect and nothing to measure again.
std::vector<HostPair> confirming_pairs(const FleetShape& fleet, const Located& located);

// "nic 17:3 receives 54 % …" for logs and tests, with numbers for names.
std::string to_text(const Suspect& suspect);

}  // namespace cb
