// TCP between hosts: bandwidth of several streams, latency, CPU cost. docs/methods/tcp.md says
// what is timed.
#include <map>
#include <utility>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/network/leaves.h"
#include "bench/network/measure.h"
#include "bench/network/tcp/plan.h"
#include "bench/network/tcp/transport.h"

namespace cb {
namespace {

CaseInfo describe() {
  return {
      .name = "tcp",
      .device = "",
      .summary = "TCP between hosts: bandwidth of several streams, latency, retransmits, CPU cost",
      .example =
          "mpirun --map-by ppr:1:node clusterbench tcp --streams 8 --schedule tournament "
          "--json t.json",
      .domain = "network",
      .needs = {.ranks = 2},
      .params = tcp::params(),
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher,
                   "payload that arrives, all streams of a pair; two-way: of both directions"},
                  {"half_round_trip_seconds", "seconds", Better::lower, "half of a ping-pong"},
                  {"latency_p999_seconds", "seconds", Better::lower, "99.9 % of the same"},
                  {"retransmits", "count", Better::lower, "segments sent again, per sending end"},
                  {"smoothed_rtt_seconds", "seconds", Better::lower,
                   "round trip of the loaded connections, the kernel's figure at the end"},
                  {"send_cpu_per_gigabit_seconds", "seconds", Better::lower,
                   "CPU time of the sending threads"},
                  {"receive_cpu_per_gigabit_seconds", "seconds", Better::lower,
                   "CPU time of the receiving threads"},
                  {"retransmitted_share", "share", Better::lower,
                   "bytes sent again, of all that was sent"},
                  {"ecn_echo_share", "share", Better::lower,
                   "segments acknowledged with ECN-Echo: switches marked, where both ends use ECN"},
                  {"kept_share", "share", Better::higher,
                   "with --loss: of the pair's bandwidth with --loss 0, measured before"},
                  {"reverse_retransmits", "count", Better::lower,
                   "two-way: segments sent again in the direction back"},
                  {"reverse_retransmitted_share", "share", Better::lower,
                   "two-way: retransmitted share in the direction back"},
                  {"reverse_ecn_echo_share", "share", Better::lower,
                   "two-way: ECN echo share in the direction back"},
                  {"reverse_smoothed_rtt_seconds", "seconds", Better::lower,
                   "two-way: smoothed rtt in the direction back"},
                  {"reverse_send_cpu_per_gigabit_seconds", "seconds", Better::lower,
                   "two-way: send cpu per gigabit in the direction back"},
                  {"reverse_receive_cpu_per_gigabit_seconds", "seconds", Better::lower,
                   "two-way: receive cpu per gigabit in the direction back"},
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
                   "of its bandwidth that the victim keeps during the incast"}},
      .checks = {"data", "transfer"},
      .fault = {.planted = said("fault.received_byte_of_point"),
                .checks = {"data"},
                .brief = {{"duration", {"200ms"}}, {"repetitions", {"1"}}},
                .point_seconds = 2,
                .blind = {{"verify", {"false"}, said("fault.no_verify")}},
                .at = std::to_string(kFirstAble)},
      .transport = TransportSide::tcp,
      .label_params = {"streams", "loss"},
  };
}

double round_deadline(const Params& params, const tcp::Spec& spec) {
  if (params.has("round-deadline")) return params.number("round-deadline");
  return 20 + 3 * spec.seconds;
}

net::Measurement measurement(Context& context, const tcp::Setup& setup, const tcp::Point& point) {
  const Params& params = point.params;
  net::Measurement m{.case_name = "tcp", .params = params, .task = {}};
  m.task.two_way = point.spec.two_way;
  m.task.measure = point.spec.latency ? PairMeasure::latency : PairMeasure::bandwidth;
  m.task.bytes = point.spec.bytes;
  m.task.seconds = point.spec.seconds;
  m.rounds =
      net::plan_rounds(params, setup.nodes, setup.rail_count(), !params.flag("rails-together"));
  net::add_leaf_facts(m.facts, params, setup.nodes, m.rounds);
  m.deadline_seconds = round_deadline(params, point.spec);
  m.victim = net::victim_flow(params, setup.nodes);
  m.rail_names = setup.rail_names;
  m.make = tcp::end_maker(setup, point.spec, context.place.host, context.cancel);
  m.ceiling = [&setup, spec = point.spec](const net::RailPair& pair) {
    return setup.ceiling(pair, spec);
  };
  return m;
}

Record measure(Context& context, const tcp::Setup& setup, const tcp::Point& point) {
  const tcp::CounterWatch counters(context.fs, setup);
  Record record = net::measure_rounds(context, setup.nodes, measurement(context, setup, point));
  if (record.measured() && context.place.first_on_host()) counters.stop(record, context.place.host);
  return record;
}

PointName name_of_point(const tcp::Point& point) {
  return {point.params, fmt::format("{} {} bytes, {} streams", point.params.text("test"),
                                    point.spec.bytes, point.spec.streams)};
}

// Compares the records with loss with those that are alike but for it.
class KeptShares {
 public:
  // Adds kept_share to a record with loss; remembers one without.
  void add(Record& record, const tcp::Point& point) {
    if (!point.params.has("loss") || !record.measured()) return;
    Params alike = point.params;
    alike.erase("loss");
    const Rates rates = rates_of(record);
    if (point.spec.loss == 0) {
      whole_.emplace_back(std::move(alike), rates);
      return;
    }
    for (const auto& [params, whole] : whole_) {
      if (params == alike) compare(record, rates, whole);
    }
  }

 private:
  using Rates = std::map<Entity, double>;

  static Rates rates_of(const Record& record) {
    Rates out;
    for (const Metric& m : record.metrics) {
      if (m.name == "bytes_per_second") out[record.entities[m.entity]] = m.samples.summary().median;
    }
    return out;
  }

  static void compare(Record& record, const Rates& rates, const Rates& whole) {
    for (const auto& [pair, rate] : rates) {
      const auto before = whole.find(pair);
      if (before != whole.end() && before->second > 0)
        record.add("kept_share", record.entity(pair), {rate / before->second});
    }
  }

  std::vector<std::pair<Params, Rates>> whole_;
};

std::vector<Record> run(Context& context, const Params& params) {
  tcp::Setup setup = tcp::set_up(context, params.texts("interface"));
  net::assign_leaves(context, params, setup.nodes);
  net::require_schedules(params, setup.nodes, setup.rail_count());
  std::vector<tcp::Point> points = tcp::plan(params);
  if (params.has("inject-fault")) {
    const std::vector<bool> planted = net::points_with_fault(context, params, tcp::arrivals(points),
                                                             setup.nodes, setup.rail_count());
    for (size_t i = 0; i < points.size(); ++i) points[i].spec.corrupt = planted[i];
  }
  KeptShares kept;
  return run_points(context, "tcp", points, name_of_point, [&](const tcp::Point& point) {
    Record record = measure(context, setup, point);
    kept.add(record, point);
    return record;
  });
}

}  // namespace

Case tcp_case() { return {describe(), run, tcp::check_params}; }

}  // namespace cb
