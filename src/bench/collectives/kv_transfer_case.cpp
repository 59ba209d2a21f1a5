// The cache of keys and values of a prompt goes from a host that reads prompts to one that
// generates: page by page between scattered blocks, layer after layer, over MPI, RDMA writes or
// NCCL, and in turn with it the same bytes in large messages. docs/methods/kv-transfer.md.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/collectives/kv/session.h"
#include "bench/collectives/kv/wires.h"
#include "bench/harness/points.h"
#include "core/units.h"
#include "sys/cpu/host_memory.h"

namespace cb {
namespace {

using namespace kv;

constexpr double kShareOfFreeMemory = 0.75;  // the library and the system need some too

std::vector<MetricDef> kv_metrics() {
  const auto lower = Better::lower, higher = Better::higher;
  return {{"transfer_seconds", "seconds", lower,
           "from the first message until the last layer's acknowledgement, of a pair"},
          {"first_layer_seconds", "seconds", lower, "until the first layer's acknowledgement"},
          {"layer_seconds", "seconds", lower, "of the whole transfer, over its layers"},
          {"longest_layer_seconds", "seconds", lower,
           "longest time between the acknowledgements of two layers that follow one another"},
          {"bytes_per_second", "bytes_per_second", higher, "whole pages, of a pair"},
          {"pages_per_second", "count per second", higher,
           "of a pair; a page holds tokens of one layer"},
          {"plain_seconds", "seconds", lower,
           "of the same bytes in one large message a layer, in turn with the pages"},
          {"share_of_plain", "share", higher, "plain messages' time over that of the pages"},
          {"total_bytes_per_second", "bytes_per_second", higher,
           "of all pairs at once, over the slowest pair's time"},
          {"transfer_spread", "ratio", lower, "slowest over fastest pair"}};
}

CaseInfo describe_kv() {
  return {
      .name = "kv-transfer",
      .device = "",
      .summary = "a prompt's cache of keys and values, page by page, from host to host",
      .example =
          "mpirun -np 2 --map-by ppr:1:node clusterbench kv-transfer --prompt 1K,8K --json k.json",
      .domain = "network",
      .needs = {.ranks = 2},
      .params = kv_params(),
      .metrics = kv_metrics(),
      .checks = {"pages"},
      .fault = {.planted = said("fault.received_page"),
                .checks = {"pages"},
                .brief = {{"iterations", {"1"}}, {"prompt", {"64"}}},
                .point_seconds = 2},
      .label_params = {"prompt", "schedule"},
  };
}

Seat idle_seat(const RankMap& place, int rank, int pairs) {
  return {.pair = pairs,
          .pairs = pairs,
          .ranks = {-1, -1},
          .idle = true,
          .name = rank_name(place, rank)};
}

Seat seat_of(const RankMap& place, int rank) {
  const std::vector<HostPair> pairs = half_to_half(place.host_of_rank);
  const auto mine = std::ranges::find_if(
      pairs, [rank](const HostPair& p) { return p.from == rank || p.to == rank; });
  if (mine == pairs.end()) return idle_seat(place, rank, static_cast<int>(pairs.size()));
  return {.pair = static_cast<int>(mine - pairs.begin()),
          .pairs = static_cast<int>(pairs.size()),
          .ranks = *mine,
          .sends = mine->from == rank,
          .name = rank_name(place, mine->from) + " → " + rank_name(place, mine->to)};
}

Entity entity_of_pair(const RankMap& place, const HostPair& ranks) {
  const auto host = [&](int rank) {
    return place.hosts[static_cast<size_t>(place.host_of_rank[static_cast<size_t>(rank)])];
  };
  return {host(ranks.from), "pair", fmt::format("rank {}", ranks.from),
          fmt::format("{}:rank {}", host(ranks.to), ranks.to)};
}

// Collective. Before anything is allocated: a host that swaps measures nothing.
void require_memory(Context& context, const KvPoint& point) {
  const double needed =
      static_cast<double>(memory_of_end(point)) * static_cast<double>(context.place.local_size);
  const auto available = available_memory_bytes(context.fs);
  Problems problems;
  if (available && needed > kShareOfFreeMemory * static_cast<double>(*available))
    problems.add(
        "--prompt",
        fmt::format("{} of {} need {} for {} ranks on {}, which has {} available: ask for fewer "
                    "tokens or --layers",
                    point.shape.tokens, point.model, format_value(needed, "bytes"),
                    context.place.local_size, context.place.host,
                    format_value(static_cast<double>(*available), "bytes")));
  throw_agreed(context.comm, "clusterbench kv-transfer", problems);
}

Samples mapped_list(const std::vector<double>& seconds, double bytes) {
  std::vector<double> out;
  for (const double s : seconds) out.push_back(bytes / s);
  return Samples::from_list(std::move(out));
}

Samples ratio_of(const std::vector<double>& over, const std::vector<double>& under) {
  std::vector<double> out;
  for (size_t i = 0; i < over.size(); ++i) out.push_back(over[i] / under[i]);
  return Samples::from_list(std::move(out));
}

void add_figures_of_pair(Record& record, size_t pair, const CacheShape& shape, const Transferred& m,
                         std::optional<Ceiling> ceiling) {
  const auto layers = static_cast<double>(shape.layers);
  const auto list = [](const std::vector<double>& values) { return Samples::from_list(values); };
  record.add("transfer_seconds", pair, list(m.seconds));
  record.add("first_layer_seconds", pair, list(m.first_layer));
  record.add("layer_seconds", pair,
             list(m.seconds).mapped([layers](double s) { return s / layers; }));
  record.add("longest_layer_seconds", pair, list(m.longest_layer));
  record.add("bytes_per_second", pair, mapped_list(m.seconds, static_cast<double>(shape.bytes())),
             std::move(ceiling));
  record.add("pages_per_second", pair,
             mapped_list(m.seconds, layers * static_cast<double>(shape.pages())));
  record.add("plain_seconds", pair, list(m.plain));
  record.add("share_of_plain", pair, ratio_of(m.plain, m.seconds));
}

// The cluster speaks for all of its hosts with each GPU and NIC, and so it must not where a rank
// has no partner.
Entity entity_of_all_pairs(const RankMap& place) {
  if (has_all_ranks(half_to_half(place.host_of_rank), place.host_of_rank))
    return {"", "cluster", ""};
  return {"", "pairs", "all pairs"};
}

// On rank 0, of several pairs.
void add_figures_of_all(Record& record, const RankMap& place, const KvPoint& point,
                        const Transferred& m) {
  const size_t pairs = m.medians.size();
  if (pairs < 2) return;
  const size_t all = record.entity(entity_of_all_pairs(place));
  if (!point.one_at_a_time)
    record.add("total_bytes_per_second", all,
               mapped_list(m.slowest,
                           static_cast<double>(pairs) * static_cast<double>(point.shape.bytes())));
  record.add("transfer_spread", all, ratio_of(m.slowest, m.fastest));
}

Said cache_text(const KvPoint& point, const TransferPlan& plan) {
  const CacheShape& s = point.shape;
  return said("kv.cache", s.layers, s.pages(),
              Quantity{static_cast<double>(s.page_bytes()), "bytes"},
              Quantity{static_cast<double>(s.bytes()), "bytes"}, plan.messages());
}

void add_facts_of_all(Record& record, const Context& context, const KvPoint& point,
                      const Transferred& m) {
  record.facts["cache"] = cache_text(point, plan_of(point, tables_of(point, 0)));
  record.facts["verified_calls"] = std::to_string(m.verified);
  if (m.medians.size() < 2) return;
  const auto slowest = std::ranges::max_element(m.medians);
  // Of two pairs the faster one: the slowest beside itself would look like all others.
  std::vector<double> sorted = m.medians;
  std::ranges::sort(sorted);
  const double middle = sorted[(sorted.size() - 1) / 2];
  const auto pairs = half_to_half(context.place.host_of_rank);
  const HostPair ranks = pairs[static_cast<size_t>(slowest - m.medians.begin())];
  record.facts["slowest_pair"] =
      said("kv.slowest", rank_name(context.place, ranks.from), rank_name(context.place, ranks.to),
           Quantity{*slowest, "seconds"}, Quantity{middle, "seconds"});
}

PageData data_of_pair(Context& context, const KvPoint& point, const Seat& seat) {
  context.watchdog.note("computing what the pages hold");
  const Watchdog::Bounded computing(context.watchdog, patience_of_end(point));
  return {point.shape, seat.pair, point.seed};
}

// A rank without a partner has no layers, and its share of the record only says so. It waits for
// the others' transfers as long as they do.
KvPoint part_of(KvPoint whole, const Seat& seat, const Wires& wires) {
  whole.transfer_deadline = wires.transfer_deadline(whole);
  whole.most_of_message = wires.most_of_message();
  if (seat.idle) whole.shape.layers = 0;
  return whole;
}

void add_check_of_pages(Record& record, size_t pair, const Transferred& m) {
  record.checks.push_back({.name = "pages",
                           .passed = !m.wrong,
                           .value = m.wrong ? static_cast<double>(m.wrong->count) : 0.0,
                           .limit = 0,
                           .entity = pair,
                           .detail = m.wrong ? m.wrong->text : Said()});
}

Record measure_kv(Context& context, const Params& params, const KvPoint& whole, const Group& group,
                  const Wires& wires) {
  Record record{.case_name = "kv-transfer", .params = params_of_point(params, whole)};
  const Seat seat = seat_of(context.place, context.comm.rank());
  require_memory(context, whole);
  const KvPoint point = part_of(whole, seat, wires);
  const PageData data = data_of_pair(context, point, seat);
  const auto wire = wires.connect(context, point, group.comm.mpi(), seat);
  if (!wire) return record;  // an end elsewhere says why
  const Transferred m = KvSession(context, point, group.comm, seat, *wire, data).run();
  if (seat.idle) {
    record.notes.push_back(said("kv.idle", seat.name));
    return record;
  }
  const size_t pair = record.entity(entity_of_pair(context.place, seat.ranks));
  add_check_of_pages(record, pair, m);
  wire->describe(record);
  if (!m.measured) return record;  // wrong data yields no number
  if (seat.sends)
    add_figures_of_pair(record, pair, point.shape, m, wires.ceiling(context, point, seat));
  if (!context.comm.is_root()) return record;
  add_figures_of_all(record, context.place, point, m);
  add_facts_of_all(record, context, point, m);
  return record;
}

std::vector<Record> run_kv(Context& context, const Params& params) {
  const std::vector<KvPoint> points = kv_points(params, context.place.host_of_rank);
  const Group group = make_group(context.place, context.comm.rank(), "");
  const Wires wires(context, params, points, group.comm);
  if (!wires.skip().empty())
    return {{.case_name = "kv-transfer", .params = params, .outcome = Skipped{wires.skip()}}};
  return run_points(
      context, "kv-transfer", points,
      [&](const KvPoint& point) {
        return PointName{params_of_point(params, point), point.plan.what};
      },
      [&](const KvPoint& point) { return measure_kv(context, params, point, group, wires); });
}

}  // namespace

Case kv_transfer_case() { return {describe_kv(), run_kv, check_kv}; }

}  // namespace cb
