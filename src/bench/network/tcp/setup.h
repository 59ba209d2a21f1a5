#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/harness/case.h"
#include "bench/network/schedule.h"
#include "bench/network/tcp/endpoint.h"

namespace cb::tcp {

// One interface that a host measures with.
struct Rail {
  std::string interface;
  std::vector<std::string> addresses = {};  // how others reach it; the preferred one first
  bool fixed = false;                       // the user named it: traffic must leave through it
  std::optional<double> bits_per_second = {};
  std::optional<int> mtu_bytes = {};
  bool ethernet = false;
};

// The hosts' interfaces and their pairing.
struct Setup {
  net::Nodes nodes;
  std::vector<std::vector<Rail>> rails;              // by node
  std::vector<std::vector<std::string>> rail_names;  // by node
  std::vector<Rail> mine;                            // rails of this rank
  std::string network;                               // network_identity()
  size_t cpus = 1;                                   // CPUs that this rank can count on

  int rail_count() const { return static_cast<int>(rail_names.at(0).size()); }
  std::optional<Ceiling> ceiling(const net::RailPair& pair, const Spec& spec) const;
};

// Collective. `asked` has interface names, one per rail, or "auto" for the interface that the
// routes lead through (one rail). Throws the same UsageError on all ranks if a host lacks a named
// interface.
Setup set_up(Context& context, const std::vector<std::string>& asked);

// The addresses of a host that others may try: fastest interface first, IPv4 before IPv6. Addresses
// that several hosts have (container bridges) lead nowhere and are left out. Pure function.
struct Candidate {
  std::string interface, address;
  double bits_per_second = 0;  // 0: unknown
};
std::vector<Candidate> usable_candidates(const std::vector<std::vector<Candidate>>& hosts,
                                         size_t host);

// Counters that tell why TCP was slow: of the kernel and of this rank's interfaces, before and
// after one record.
class CounterWatch {
 public:
  CounterWatch(const FsRoot& fs, const Setup& setup);
  // Adds the counters that have changed.
  void stop(Record& record, const std::string& host) const;

 private:
  struct Reading {
    std::string interface;  // empty: a counter of the host
    std::string name;
    double value = 0;
  };
  std::vector<Reading> read() const;
  const FsRoot& fs_;
  const Setup& setup_;
  std::vector<Reading> before_;
};

}  // namespace cb::tcp
