#include "bench/network/tcp/transport.h"

#include <memory>

#include "bench/network/pairs/transports.h"
#include "bench/network/round.h"

namespace cb {
namespace tcp {
namespace {

// Streams of a pair in a survey: enough to fill a fast NIC, few enough to start quickly.
constexpr int kSurveyStreams = 4;

class TcpTransport final : public net::EndTransport {
 public:
  TcpTransport(Context& context, std::shared_ptr<Setup> setup)
      : EndTransport("TCP over " + setup->rail_names.at(0).at(0), context.comm,
                     maker(context, *setup)),
        setup_(std::move(setup)) {}

  std::string rail_name(int rail) const override {
    return setup_->mine.at(static_cast<size_t>(rail)).interface;
  }

  // A message for each of the threads, of which there are no more than streams.
  uint64_t host_memory(const PairTask& task) const override {
    const bool latency = task.measure == PairMeasure::latency;
    const uint64_t messages = latency ? 2 : task.two_way ? 2 * kSurveyStreams : kSurveyStreams;
    return messages * task.bytes;
  }

 private:
  static net::MakeEndpoint maker(const Context& context, const Setup& setup) {
    return [&setup, host = context.place.host, &cancel = context.cancel](const net::PairJob& job) {
      const Spec spec{.latency = job.task.measure == PairMeasure::latency,
                      .two_way = job.task.two_way,
                      .bytes = job.task.bytes,
                      .streams = kSurveyStreams,
                      .seconds = job.task.seconds,
                      .repetitions = 1,
                      .own_rate = true,
                      .zero_copy = ZeroCopy::off};
      return end_maker(setup, spec, host, cancel)(job);
    };
  }

  std::shared_ptr<Setup> setup_;
};

}  // namespace

net::MakeEndpoint end_maker(const Setup& setup, const Spec& spec, const std::string& host,
                            const CancelToken& cancel) {
  return [&setup, spec, host, &cancel](const net::PairJob& job) {
    const Rail& rail = setup.mine[static_cast<size_t>(job.task.rail) % setup.mine.size()];
    return std::make_unique<TcpEndpoint>(spec, job,
                                         EndpointPlace{{rail.interface, rail.addresses, rail.fixed},
                                                       {.host = host, .network = setup.network},
                                                       setup.cpus},
                                         cancel);
  };
}

}  // namespace tcp

OpenedTransport make_tcp_transport(Context& context) {
  if (context.comm.size() < 2) return {nullptr, said("net.needs_launcher")};
  auto setup = std::make_shared<tcp::Setup>(tcp::set_up(context, {"auto"}));
  return {std::make_unique<tcp::TcpTransport>(context, std::move(setup))};
}

}  // namespace cb
