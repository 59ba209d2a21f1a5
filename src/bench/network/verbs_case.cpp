// RDMA between hosts: bandwidth, message rate and latency of write, read, send and atomics, as
// ib_write_bw and its relatives measure them. docs/methods/verbs.md says what is timed.
#include <algorithm>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/network/leaves.h"
#include "bench/network/measure.h"
#include "bench/network/verbs/endpoint.h"
#include "bench/network/verbs/plan.h"
#include "bench/network/verbs/setup.h"
#include "sys/gpu/pci_reach.h"

namespace cb {
namespace {

CaseInfo describe() {
  return {
      .name = "verbs",
      .device = "",
      .summary = "RDMA between hosts: bandwidth, message rate and latency, every NIC and pair",
      .example =
          "mpirun --map-by ppr:1:node clusterbench verbs --op write,read --schedule tournament "
          "--json v.json",
      .domain = "network",
      .params = verbs::params(),
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher,
                   "payload from the first post to the last completion; two-way: of both "
                   "directions"},
                  {"messages_per_second", "messages_per_second", Better::higher, "of the same"},
                  {"half_round_trip_seconds", "seconds", Better::lower,
                   "write and send: half of a ping-pong"},
                  {"round_trip_seconds", "seconds", Better::lower,
                   "read and atomics: from post to completion"},
                  {"latency_p999_seconds", "seconds", Better::lower, "99.9 % of the same"},
                  {"received_bytes_per_second", "bytes_per_second", Better::higher,
                   "what a host takes from several senders at once"},
                  {"received_fairness", "share", Better::higher,
                   "Jain's index of these senders' shares"},
                  {"sent_bytes_per_second", "bytes_per_second", Better::higher,
                   "what a host gives to several receivers at once"},
                  {"sent_fairness", "share", Better::higher,
                   "Jain's index of these receivers' shares"},
                  {"alone_bytes_per_second", "bytes_per_second", Better::higher,
                   "of the victim before the incast"},
                  {"victim_share", "share", Better::higher,
                   "of its bandwidth that the victim keeps during the incast"},
                  {"send_cpu_per_gigabit_seconds", "seconds", Better::lower,
                   "of the thread that drives the transfer: busy CPUs per Gb/s"},
                  {"receive_cpu_per_gigabit_seconds", "seconds", Better::lower,
                   "of the thread at the other end"},
                  {"lost_messages", "count", Better::lower, "uc and ud: sent and not received"}},
      .checks = {"data", "transfer", "lossless"},
      .fault = {.planted = said("fault.received_byte_of_point"),
                .checks = {"data"},
                .brief = {{"duration", {"100ms"}}, {"repetitions", {"1"}}},
                .point_seconds = 2,
                .blind = {{"verify", {"false"}, said("fault.no_verify")}},
                .at = std::to_string(kFirstAble)},
      .transport = TransportSide::rdma,
      .label_params = {"op", "size"},
  };
}

double round_deadline(const Params& params, const verbs::Spec& spec) {
  if (params.has("round-deadline")) return params.number("round-deadline");
  return 20 + 3 * spec.seconds;
}

net::Measurement measurement(Context& context, const verbs::Setup& setup,
                             const verbs::Point& point) {
  const verbs::Spec& spec = point.spec;
  const Params& params = point.params;
  net::Measurement m{.case_name = "verbs", .params = params, .task = {}};
  m.task.two_way = spec.two_way;
  m.task.measure = spec.latency ? PairMeasure::latency : PairMeasure::bandwidth;
  m.task.bytes = spec.bytes;
  m.task.seconds = spec.seconds;
  if (verbs::is_round_trip(spec.verb)) m.latency_name = "round_trip_seconds";
  m.rounds =
      net::plan_rounds(params, setup.nodes, setup.rail_count(), !params.flag("rails-together"));
  net::add_leaf_facts(m.facts, params, setup.nodes, m.rounds);
  m.deadline_seconds = round_deadline(params, spec);
  m.victim = net::victim_flow(params, setup.nodes);
  m.rail_names = setup.rail_names;
  m.make = [&context, &setup, spec](const net::PairJob& job) {
    const RdmaPort& port = setup.rails[static_cast<size_t>(job.task.rail) % setup.rails.size()];
    verbs::Spec mine = spec;
    if (spec.gpu_memory && !spec.gpu)
      mine.gpu =
          static_cast<int>(nearest_function(context.fs, port.pci_address.value_or(""), setup.gpus));
    return std::make_unique<verbs::VerbsEndpoint>(setup.pool->get(port), mine, job, context.cancel);
  };
  m.ceiling = [&setup, spec](const net::RailPair& pair) { return setup.ceiling(pair, spec); };
  return m;
}

Record skipped(const Params& params, const Said& reason) {
  return {.case_name = "verbs", .params = params, .outcome = Skipped{reason}};
}

PointName name_of_verb(const verbs::Point& point) {
  return {point.params, fmt::format("{} {} {}", point.params.text("op"), point.params.text("test"),
                                    point.spec.bytes)};
}

Record measure(Context& context, const verbs::Setup& setup, const verbs::Point& point) {
  verbs::CounterWatch counters(context.fs, setup);
  Record record = net::measure_rounds(context, setup.nodes, measurement(context, setup, point));
  counters.stop(record, context, point.params.flag("lossless"));
  setup.describe(record);
  return record;
}

std::vector<Record> run(Context& context, const Params& params) {
  std::vector<verbs::Point> points = verbs::plan(params);
  verbs::Setup setup = verbs::set_up(context, params.texts("rails"));
  if (!setup.skip.empty()) return {skipped(params, setup.skip)};
  net::assign_leaves(context, params, setup.nodes);
  if (params.text("memory") == "gpu") {
    const Said reason = verbs::need_gpus(context, setup, params);
    if (!reason.empty()) return {skipped(params, reason)};
  }
  net::require_schedules(params, setup.nodes, setup.rail_count());
  if (params.has("inject-fault")) {
    const std::vector<bool> planted = net::points_with_fault(
        context, params, verbs::arrivals(points), setup.nodes, setup.rail_count());
    for (size_t i = 0; i < points.size(); ++i) points[i].spec.corrupt = planted[i];
  }
  verbs::require_supported(context, setup, points);
  return run_points(context, "verbs", points, name_of_verb,
                    [&](const verbs::Point& point) { return measure(context, setup, point); });
}

}  // namespace

Case verbs_case() { return {describe(), run, verbs::check_params, verbs::why_no_port}; }

}  // namespace cb
