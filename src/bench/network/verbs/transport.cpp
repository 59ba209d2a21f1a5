// Pairs over RDMA for schedules and locate. Bandwidth uses writes, latency a ping-pong of writes.
#include "bench/network/pairs/transports.h"
#include "bench/network/round.h"
#include "bench/network/verbs/endpoint.h"
#include "bench/network/verbs/setup.h"

namespace cb {
namespace {

class VerbsTransport : public net::EndTransport {
 public:
  VerbsTransport(Comm& comm, std::shared_ptr<const verbs::Setup> setup, net::MakeEndpoint make)
      : EndTransport("verbs over " + setup->rails[0].name(), comm, std::move(make)),
        setup_(std::move(setup)) {}
  int rails() const override { return setup_->rail_count(); }
  // Empty if hosts use different names: one name could not stand for all.
  std::string rail_name(int rail) const override {
    const auto& names = setup_->rail_names;
    for (const auto& of_node : names) {
      if (of_node != names.front()) return {};
    }
    return names.front()[static_cast<size_t>(rail)];
  }
  // One region to send from and one to receive in.
  uint64_t host_memory(const PairTask& task) const override { return 2 * task.bytes; }

 private:
  std::shared_ptr<const verbs::Setup> setup_;
};

verbs::Spec spec_of(const PairTask& task) {
  verbs::Spec spec;
  spec.latency = task.measure == PairMeasure::latency;
  spec.two_way = task.two_way;
  spec.bytes = task.bytes;
  spec.seconds = task.seconds;
  return spec;
}

}  // namespace

OpenedTransport make_verbs_transport(Context& context) {
  auto setup = std::make_shared<const verbs::Setup>(verbs::set_up(context, {"auto"}));
  if (!setup->skip.empty()) return {nullptr, setup->skip};
  const CancelToken& cancel = context.cancel;
  auto make = [setup, &cancel](const net::PairJob& job) {
    const RdmaPort& port = setup->rails[static_cast<size_t>(job.task.rail) % setup->rails.size()];
    return std::make_unique<verbs::VerbsEndpoint>(setup->pool->get(port), spec_of(job.task), job,
                                                  cancel);
  };
  return {std::make_unique<VerbsTransport>(context.comm, setup, make)};
}

}  // namespace cb
