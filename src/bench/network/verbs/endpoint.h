#pragma once

#include "bench/network/pair_endpoint.h"
#include "bench/network/verbs/bandwidth.h"
#include "bench/network/verbs/device.h"
#include "bench/network/verbs/payload.h"

namespace cb::verbs {

// One end of a measured transfer over RDMA.
class VerbsEndpoint : public net::PairEndpoint {
 public:
  VerbsEndpoint(std::shared_ptr<const Device> device, const Spec& spec, const net::PairJob& job,
                const CancelToken& cancel);
  std::string address() override { return link_.address().text(); }
  void connect(const std::string& peer_address, double deadline_seconds) override;
  net::PairOutcome run(double deadline_seconds) override;

 private:
  net::PairOutcome fail_with(const Said& why);
  std::string word_of_peer();
  void stream(Idle& idle, net::PairOutcome& out);
  void ping_pong(Idle& idle, net::PairOutcome& out);
  // `arrived`: messages in all; `of_each`: at least so many of each queue pair.
  void verify(uint64_t arrived, const Counts& of_each, net::PairOutcome& out);
  void add_cost(double cpu_seconds, double bytes, net::PairOutcome& out) const;
  void add_facts(net::PairOutcome& out) const;

  net::PairJob job_;
  Spec spec_;
  const CancelToken& cancel_;
  Link link_;
};

}  // namespace cb::verbs
