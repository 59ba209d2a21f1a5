#pragma once

#include <memory>
#include <string>

#include "bench/network/pair_endpoint.h"
#include "bench/network/tcp/connection.h"
#include "bench/network/tcp/spec.h"

namespace cb::tcp {

// The identity of this end, and how it leaves its host.
struct EndpointPlace {
  Source source;
  Address address;  // this host on that rail; the end adds token and doors
  size_t cpus = 1;  // CPUs that this rank can count on: limit of the threads for its streams
};

// One end of a measured transfer over TCP. The sending end connects. Only run() waits.
class TcpEndpoint : public net::PairEndpoint {
 public:
  TcpEndpoint(const Spec& spec, const net::PairJob& job, EndpointPlace place,
              const CancelToken& cancel);
  std::string address() override { return place_.address.text(); }
  void connect(const std::string& peer_address, double deadline_seconds) override;
  net::PairOutcome run(double deadline_seconds) override;

 private:
  Link make_link(const Until& until);
  std::vector<Door> ways_to_peer() const;
  uint64_t seed(size_t stream, bool of_this_end) const;
  void stream(const Link& link, const Until& until, net::PairOutcome& out) const;
  void ping_pong(const Link& link, const Until& until, net::PairOutcome& out) const;
  bool sends() const { return job_.task.sends || spec_.two_way; }
  bool receives() const { return !job_.task.sends || spec_.two_way; }

  Spec spec_;
  net::PairJob job_;
  EndpointPlace place_;
  const CancelToken& cancel_;
  Reception reception_;
  Address peer_;
};

}  // namespace cb::tcp
