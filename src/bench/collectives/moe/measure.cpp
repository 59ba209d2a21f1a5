#include "bench/collectives/moe/measure.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/collectives/link_rates.h"
#include "bench/collectives/moe/session.h"
#include "bench/harness/points.h"
#include "core/sha256.h"
#include "core/units.h"
#include "sys/cpu/host_memory.h"

namespace cb::moe {
namespace {

constexpr double kShareOfFree = 0.75;  // the library and the system need some too

std::vector<MetricDef> moe_metrics() {
  const auto lower = Better::lower, higher = Better::higher;
  const std::string rate = "bytes_per_second";
  return {{"dispatch_seconds", "seconds", lower,
           "from known experts to all tokens received: counts, packing and exchange, per rank"},
          {"dispatch_exchange_seconds", "seconds", lower, "exchange of packed rows alone"},
          {"combine_seconds", "seconds", lower,
           "from the experts' results to sums in the order of the tokens, per rank"},
          {"combine_exchange_seconds", "seconds", lower, "exchange of the results alone"},
          {"late_counts_seconds", "seconds", lower,
           "after the first rank, until this one began to exchange counts"},
          {"late_seconds", "seconds", lower,
           "after the first rank, until this one had packed and began to exchange"},
          {"dispatch_send_bytes_per_second", rate, higher,
           "what the busiest sender sends to other ranks, over the slowest rank's exchange"},
          {"dispatch_receive_bytes_per_second", rate, higher, "of the busiest receiver"},
          {"combine_send_bytes_per_second", rate, higher, "of the busiest sender of results"},
          {"combine_receive_bytes_per_second", rate, higher, "of the busiest receiver of results"},
          {"dispatch_algorithm_bytes_per_second", rate, higher,
           "what the mean rank gets, its own included, over the slowest rank's dispatch"},
          {"combine_algorithm_bytes_per_second", rate, higher, "the same of combine"},
          {"dispatch_host_bytes_per_second", rate, higher,
           "what the busiest host sends or receives of other hosts, over the exchange"},
          {"combine_host_bytes_per_second", rate, higher, "the same of combine"},
          {"dispatch_spread", "ratio", lower, "slowest over fastest rank of an exchange"},
          {"combine_spread", "ratio", lower, "the same of combine"},
          {"routing_imbalance", "ratio", lower,
           "tokens of the rank that gets most over the mean: of the routing, no fault of a part"}};
}

// Of all ranks: "node03 rank 5".
std::vector<std::string> names_of_ranks(const RankMap& place) {
  std::vector<std::string> out;
  for (size_t r = 0; r < place.host_of_rank.size(); ++r)
    out.push_back(rank_name(place, static_cast<int>(r)));
  return out;
}

void add_moe_checks(Record& record, size_t self, const Exchanged& m) {
  const auto add = [&](const char* name, const std::optional<Wrong>& wrong) {
    Check check{.name = name, .passed = !wrong, .limit = 0, .entity = self};
    check.value = wrong ? static_cast<double>(wrong->count) : 0;
    if (wrong) check.detail = wrong->text;
    record.checks.push_back(std::move(check));
  };
  add("dispatch", m.wrong_dispatch);
  if (m.looked_at_combine) add("combine", m.wrong_combine);
  if (m.looked_at_digest)
    record.checks.push_back({.name = "digest",
                             .passed = m.wrong_digest.empty(),
                             .entity = self,
                             .detail = m.wrong_digest});
}

Samples list_of_seconds(const PartTimes& part) { return Samples::from_list(part.own); }

// `bytes` over each time; nothing is added where nothing was sent.
void add_rate(Record& record, const std::string& name, size_t entity, double bytes,
              const std::vector<double>& seconds, std::optional<Ceiling> ceiling = {}) {
  if (bytes <= 0) return;
  std::vector<double> out;
  for (const double s : seconds) out.push_back(bytes / s);
  record.add(name, entity, Samples::from_list(std::move(out)), std::move(ceiling));
}

// One direction of the exchange.
struct Direction {
  std::string name;
  double payload;  // counted bytes of a row
  Bottleneck ranks, hosts;
  const PartTimes& whole;
  const PartTimes& rows;
};

// On rank 0: figures of all ranks together.
void add_direction(Record& record, size_t cluster, const Direction& d, double mean_rows,
                   const std::optional<Ceiling>& network) {
  const auto bytes = [&](auto rows) { return static_cast<double>(rows) * d.payload; };
  add_rate(record, d.name + "_send_bytes_per_second", cluster, bytes(d.ranks.sent), d.rows.slowest);
  add_rate(record, d.name + "_receive_bytes_per_second", cluster, bytes(d.ranks.received),
           d.rows.slowest);
  add_rate(record, d.name + "_algorithm_bytes_per_second", cluster, bytes(mean_rows),
           d.whole.slowest);
  add_rate(record, d.name + "_host_bytes_per_second", cluster,
           bytes(std::max(d.hosts.sent, d.hosts.received)), d.rows.slowest, network);
}

Samples spread_of(const PartTimes& rows) {
  std::vector<double> out;
  for (size_t i = 0; i < rows.slowest.size(); ++i) out.push_back(rows.slowest[i] / rows.fastest[i]);
  return Samples::from_list(std::move(out));
}

Bottleneck turned(const Bottleneck& b) { return {b.received, b.sent}; }

void add_group_figures(Record& record, const Context& context, const MoePoint& point,
                       const Routes& routes, const Exchanged& m,
                       const std::optional<Ceiling>& network) {
  const size_t cluster = record.entity({"", "cluster", ""});
  const Bottleneck ranks = busiest_rank(routes.copies);
  const Bottleneck hosts = busiest_host(routes.copies, context.place.host_of_rank);
  const Load shares = load(routes.copies);
  const TokenFormat& f = point.format;
  add_direction(record, cluster,
                {"dispatch", static_cast<double>(f.dispatch_payload()), ranks, hosts, m.dispatch,
                 m.dispatch_rows},
                shares.mean, network);
  add_direction(record, cluster,
                {"combine", static_cast<double>(f.combine_payload()), turned(ranks), turned(hosts),
                 m.combine, m.combine_rows},
                shares.mean, network);
  record.add("dispatch_spread", cluster, spread_of(m.dispatch_rows));
  record.add("combine_spread", cluster, spread_of(m.combine_rows));
  record.add("routing_imbalance", cluster, {shares.imbalance});
}

void add_moe_figures(Record& record, const Context& context, size_t self, const MoePoint& point,
                     const Routes& routes, const Exchanged& m,
                     const std::optional<Ceiling>& network) {
  record.add("dispatch_seconds", self, list_of_seconds(m.dispatch));
  record.add("dispatch_exchange_seconds", self, list_of_seconds(m.dispatch_rows));
  record.add("combine_seconds", self, list_of_seconds(m.combine));
  record.add("combine_exchange_seconds", self, list_of_seconds(m.combine_rows));
  record.add("late_counts_seconds", self, Samples::from_list(m.late_counts));
  record.add("late_seconds", self, Samples::from_list(m.late));
  if (context.comm.is_root()) add_group_figures(record, context, point, routes, m, network);
}

void add_moe_facts(Record& record, const Context& context, const MoePoint& point,
                   const Routes& routes, const Exchanged& m) {
  record.facts["verified_calls"] = std::to_string(m.verified);
  if (!context.comm.is_root()) return;
  const Load shares = load(routes.copies);
  const Bottleneck ranks = busiest_rank(routes.copies);
  record.facts["routed"] = said("moe.routed", fmt::format("{:.1f}", shares.mean),
                                names_of_ranks(context.place)[static_cast<size_t>(shares.busiest)],
                                ranks.sent, ranks.received);
  record.facts["row"] =
      said("moe.row", point.format.dispatch_payload(),
           point.format.dispatch_row(point.router.top_k), point.format.combine_payload());
}

// Of what came and of the sums on all ranks: the same for every run with the same parameters.
void add_moe_digest(Record& record, Context& context, uint64_t mine) {
  std::string all;
  for (const std::string& one : context.comm.gather(fmt::format("{:016x}", mine))) all += one;
  if (context.comm.is_root()) record.facts["data_digest"] = sha256_hex(all);
}

// Collective. All RDMA ports of the host that has least, where there are several hosts.
std::optional<Ceiling> network_of(Context& context) {
  const double rate = context.comm.min(host_network_rate(context.inventory));
  if (rate <= 0 || context.place.hosts.size() < 2) return std::nullopt;
  return Ceiling{
      rate, said("coll.per_host", Quantity{rate, "bytes_per_second"}, context.place.hosts.size())};
}

Params params_of_point(const Params& params, const MoePoint& point) {
  return params.with("batch", point.router.tokens).with("routing", point.routing);
}

Record measure_moe(Context& context, const Params& params, const MoePoint& point,
                   const GroupComm& group, const MoeDevice& device) {
  Record record{.case_name = "moe", .params = params_of_point(params, point)};
  const size_t self =
      record.entity({context.place.host, "rank", std::to_string(context.comm.rank())});
  context.watchdog.note("routing the tokens of all ranks");
  Routes routes(point.router, context.comm.rank());
  device.require_room(point, routes);
  const TokenData data(point.format, point.router.experts, point.router.top_k,
                       point.router.routing.seed);
  const auto exchange = device.make(std::move(routes), data, names_of_ranks(context.place));
  const Exchanged measured = MoeSession(context, point, group, *exchange).run();
  device.describe(record);
  add_moe_checks(record, self, measured);
  add_moe_facts(record, context, point, exchange->routes(), measured);
  if (!measured.measured) return record;  // wrong data yields no number
  add_moe_digest(record, context, measured.digest);
  add_moe_figures(record, context, self, point, exchange->routes(), measured, network_of(context));
  return record;
}

}  // namespace

CaseInfo moe_info() {
  return {
      .name = "moe",
      .summary = "dispatch and combine of a mixture of experts, by a router's choices",
      .domain = "network",
      .needs = {.ranks = 2},
      .params = moe_params(),
      .metrics = moe_metrics(),
      .checks = {"dispatch", "combine", "digest"},
      .fault = {.planted = said("fault.exchanged"),
                .checks = {"dispatch"},
                .brief = {{"iterations", {"1"}}, {"batch", {"8"}}},
                .point_seconds = 2},
      .label_params = {"batch", "routing"},
  };
}

// Before anything is allocated: a host that swaps measures nothing.
void require_host_memory(Context& context, const MoePoint& point, const Routes& routes) {
  const auto mine = static_cast<double>(ExpertExchange::buffer_bytes(routes, point.format));
  const double needed = context.comm.max(mine) * context.place.local_size;
  const auto available = available_memory_bytes(context.fs);
  Problems problems;
  if (available && needed > kShareOfFree * static_cast<double>(*available))
    problems.add(
        "--batch",
        fmt::format("{} needs {} for {} ranks on {}, which has {} available: ask for "
                    "fewer tokens or a smaller --hidden",
                    point.plan.what, format_value(needed, "bytes"), context.place.local_size,
                    context.place.host, format_value(static_cast<double>(*available), "bytes")));
  throw_agreed(context.comm, "clusterbench moe", problems);
}

std::vector<Record> run_moe_points(Context& context, const Params& params, const GroupComm& group,
                                   const MoeDevice& device) {
  const auto measured = [&](const MoePoint& point) {
    try {
      return measure_moe(context, params, point, group, device);
    } catch (const FailedElsewhere&) {
      return Record{.case_name = "moe", .params = params_of_point(params, point)};
    }
  };
  return run_points(
      context, "moe", moe_points(params, context.comm.size()),
      [&](const MoePoint& point) {
        return PointName{params_of_point(params, point), point.plan.what};
      },
      measured);
}

}  // namespace cb::moe
