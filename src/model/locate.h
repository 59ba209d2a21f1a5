#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/schedule.h"

// Finds who is slow: turns the bandwidths of many pairs of hosts into suspect hosts, NICs, links
// and leaf uplinks. Pure; measurements and simulated fleets run the same code.
// docs/methods/locate.md says how it decides.
namespace cb {

// Hosts with the same number of rails (NICs in the same position). leaf[host * rails + rail] is the
// NIC's switch. `leaf` is empty if the topology is not known: then no uplink can be named.
struct FleetShape {
  int hosts = 0;
  int rails = 1;
  std::vector<int> leaf = {};

  int leaf_of(int host, int rail) const;  // −1 if it is not known
  size_t nics() const { return static_cast<size_t>(hosts) * static_cast<size_t>(rails); }
  size_t nic(int host, int rail) const {
    return static_cast<size_t>(host) * static_cast<size_t>(rails) + static_cast<size_t>(rail);
  }
};

// One measured transfer from one host to another over one rail. The unit is free; more is better.
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
  rail     // ranks in the same place on their hosts
};
enum class Side { both, transmit, receive };

struct Suspect {
  SuspectKind kind = SuspectKind::host;
  int host = -1;       // host, nic, inside; the sender of a link
  int rail = -1;       // nic, link, rail
  int peer = -1;       // the receiver of a link
  int leaf = -1;       // uplink
  int peer_leaf = -1;  // uplink: the only other leaf; both ends look the same from outside
  Side side = Side::both;
  double share = 1;             // its median as a share of the fleet's level
  size_t low = 0, samples = 0;  // number of its low samples, and of all
  double confidence = 0;        // 1 − probability that noise alone gives this share
  bool congestion = false;      // slow only together with others, fine alone
};

struct LocateOptions {
  double tolerance = 0.025;  // a smaller shortfall, as a share, is nobody's fault
  double sigmas = 5;         // the shortfall must exceed the noise by this factor
};

struct Located {
  std::vector<Suspect> suspects;  // worst first
  std::vector<HostPair>
      retest;        // pairs with single low samples and no slow end: measure these again
  double noise = 0;  // standard deviation of one sample, robust, as a share
};

// Decides from all samples so far. A link is suspected only with three samples of the same pair and
// rail (retest gives them).
Located locate(const FleetShape& fleet, const std::vector<PairSample>& samples,
               const LocateOptions& options = {});

// Returns the rounds of the quick survey: ⌈log2 n⌉ + 8 rounds across the fleet, and 6 within the
// leaves if they are known. 1,024 hosts need 24 rounds.
std::vector<Round> quick_survey(const FleetShape& fleet, uint64_t seed);

// Returns pairs to measure alone, one after another, to confirm the suspects: every suspect host
// and NIC with two sound hosts, both ways; every suspect link and every pair of located.retest;
// pairs across every suspect uplink; and one pair of sound hosts, both ways, to compare with. Empty
// if there is no suspect and nothing to measure again.
std::vector<HostPair> confirming_pairs(const FleetShape& fleet, const Located& located);

// "nic 17:3 receives 54 % …" for logs and tests; numbers stand for names.
std::string to_text(const Suspect& suspect);

}  // namespace cb
