// Memory bandwidth by STREAM's four kernels under STREAM's rules, for whole hosts and for each NUMA
// node, and the latency of dependent loads by working-set size. Bytes are counted as STREAM counts
// them: what the caches read before they write, or write back, is not.
#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/cases.h"
#include "bench/cpu/memory.h"
#include "bench/cpu/pointer_chase.h"
#include "bench/cpu/rank_cores.h"
#include "bench/cpu/stream_phase.h"
#include "bench/cpu/sweep.h"
#include "bench/harness/fault.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"
#include "core/units.h"

namespace cb {
namespace {

// With STREAM's scalar the values grow fifteenfold a pass and leave fp64's range after 262.
constexpr int64_t kMaxPasses = 200;
constexpr uint64_t kMaxWarmUp = 10;
constexpr int64_t kMinElements = 1000000;  // STREAM's rule, where caches are tiny or unknown
constexpr uint64_t kChaseSteps = 1 << 15;  // of a latency sample: 0.03 to 5 ms

CaseInfo describe() {
  using namespace param;
  return {
      .name = "bandwidth",
      .device = "cpu",
      .summary = "memory bandwidth (STREAM) and latency of the host",
      .example = "clusterbench bandwidth --device cpu --op triad,latency --json b.json",
      .domain = "memory",
      .needs = {},
      .params =
          {device_param("cpu", "whose memory"),
           choice("op", {"copy", "scale", "add", "triad", "latency"})
               .help("STREAM's kernels, and latency")
               .by_default("copy,scale,add,triad")
               .list(),
           size("size")
               .help(
                   "size of each of the host's three arrays; by default 4 × the last-level caches")
               .at_least(4096),
           choice("stores", {"auto", "regular", "streaming"})
               .help("through the caches or past them; auto: the faster")
               .by_default("auto"),
           threads_param(),
           integer("iterations").help("exact number of passes").range(10, kMaxPasses),
           sampling_param("5s"),
           size("min-size").help("latency: first working set").by_default("4K").at_least(128),
           size("max-size").help("latency: last working set").by_default("1G").at_least(128),
           number("step-factor").help("latency: between them").by_default("4").range(1.01, 1024),
           seed_param("of the random order"),
           fault_param("changes an element of an array, or a link of the latency's cycle, to prove "
                       "that it is seen")},
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher, "as STREAM counts"},
                  {"latency_seconds", "seconds", Better::lower, "of one dependent load"}},
      .checks = {"arrays", "cycle"},
      .fault = {.planted = said("fault.array"),
                .checks = {"arrays", "cycle"},
                .brief = {{"iterations", {"10"}}},
                .point_seconds = 2},
  };
}

Params point(const Params& params, const std::string& op) {
  Params out = params.with("op", op);
  for (const char* key : {"min-size", "max-size", "step-factor"}) out.erase(key);
  return out;
}

Params streams_together(const Params& params, const StreamPlan& plan) {
  Params out = point(params, "");
  std::vector<ParamValue> ops;
  for (const StreamOp op : plan.ops) ops.push_back(std::string(stream_op_name(op)));
  out.set_list("op", std::move(ops));
  return out;
}

StreamPlan plan_of(const Context& context, const Params& params) {
  StreamPlan plan{.ops = {},
                  .stores = params.text("stores"),
                  .samples = {},
                  .faulty = plants_fault(context, params)};
  for (const std::string& op : params.texts("op")) {
    if (op != "latency") plan.ops.push_back(stream_op(op));
  }
  SamplePlan& s = plan.samples;
  s.warm_up_samples = kMaxWarmUp;
  s.stop.min_samples = 10;  // STREAM's least
  s.stop.max_samples = kMaxPasses;
  s.stop.max_seconds = params.number("duration");
  if (params.has("iterations")) {
    s.stop.min_samples = s.stop.max_samples = static_cast<uint64_t>(params.integer("iterations"));
    s.stop.target_half_width = 0;
    s.stop.max_seconds = 1e9;
  }
  return plan;
}

// Collective. How many ranks of this host have cores in each NUMA node.
std::map<int, int> ranks_per_node(Context& context, const std::vector<int>& mine) {
  std::string all;
  for (const std::string& nodes : context.comm.gather(fmt::format("{}", fmt::join(mine, " "))))
    all += nodes + "\n";
  std::istringstream lines(context.comm.broadcast_text(all));
  std::map<int, int> out;
  std::string line;
  const auto self = static_cast<size_t>(context.comm.rank());
  for (size_t rank = 0; std::getline(lines, line); ++rank) {
    if (context.place.host_of_rank[rank] != context.place.host_of_rank[self]) continue;
    std::istringstream nodes(line);
    for (int node = 0; nodes >> node;) ++out[node];
  }
  return out;
}

std::vector<int> nodes_of(const RankCores& cores) {
  std::vector<int> out;
  for (const Core& c : cores.cores) out.push_back(c.node);
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

// Elements of each array for one rank out of `ranks` that share caches of `llc_bytes`.
size_t elements_for(const Params& params, int64_t llc_bytes, int ranks) {
  const int64_t whole =
      params.has("size")
          ? params.integer("size") / static_cast<int64_t>(sizeof(double))
          : std::max(4 * llc_bytes / static_cast<int64_t>(sizeof(double)), kMinElements);
  return static_cast<size_t>(std::max<int64_t>(whole / std::max(1, ranks), 8));
}

// Collective. The whole host, then each of its NUMA nodes where there are several. Every rank gets
// the same number of phases; where it has no core it waits.
std::vector<StreamPhase> phases_of(Context& context, const Params& params, const RankCores& cores) {
  const std::vector<int> mine = nodes_of(cores);
  const std::map<int, int> ranks = ranks_per_node(context, mine);
  std::vector<StreamPhase> out{
      {"host", context.place.host, cpus_of_rank(context.comm, cores, params),
       elements_for(params, cores.machine.llc_bytes, context.place.local_size)}};
  const int last = ranks.empty() ? 0 : ranks.rbegin()->first;
  const int most = static_cast<int>(context.comm.max(last));
  // More threads than cores are a wish about the host; a node then gets one thread a core.
  for (int node = 0; node <= most && most > 0; ++node) {
    StreamPhase phase{"numa", std::to_string(node)};
    RankCores there{.cores = {}, .machine = cores.machine};
    for (const Core& c : cores.cores) {
      if (c.node == node) there.cores.push_back(c);
    }
    if (!there.cores.empty()) {
      const auto& nodes = cores.machine.nodes;
      const auto at = std::find(nodes.begin(), nodes.end(), node) - nodes.begin();
      phase.cpus = there.cpus(0);
      phase.elements = elements_for(
          params, cores.machine.node_llc_bytes.at(static_cast<size_t>(at)), ranks.at(node));
    }
    out.push_back(std::move(phase));
  }
  return out;
}

void add_check(Record& record, const Context& context, const StreamPhase& phase,
               const StreamShare& share) {
  if (phase.cpus.empty()) return;
  const StreamErrors& e = share.errors;
  Check check{.name = "arrays",
              .passed = e.wrong == 0,
              .value = static_cast<double>(e.wrong),
              .limit = 0,
              .entity = record.entity({context.place.host, phase.kind, phase.id})};
  if (e.wrong > 0)
    check.detail = said("memory.wrong_of_elements", context.who(), e.wrong, 3 * share.elements,
                        fmt::format("{}[{}]", e.array, e.first), fmt::format("{}", e.found),
                        fmt::format("{}", e.expected));
  record.checks.push_back(std::move(check));
}

// On rank 0: the metrics of every host (or node) from all ranks' shares. A part of which one rank's
// arrays were wrong has no number.
void add_metrics(Record& record, const std::vector<StreamShare>& shares,
                 const std::vector<StreamOp>& ops, StreamOp op) {
  std::map<Entity, std::vector<const StreamShare*>> parts;
  for (const StreamShare& s : shares) {
    if (s.threads > 0) parts[{s.host, s.kind, s.id}].push_back(&s);
  }
  for (const auto& [entity, members] : parts) {
    const bool wrong = std::any_of(members.begin(), members.end(),
                                   [](const StreamShare* s) { return s->errors.wrong > 0; });
    if (wrong) continue;
    Samples rates;
    for (const double v : combined_bandwidth(members, op)) rates.add(v);
    record.add("bytes_per_second", record.entity(entity), std::move(rates),
               Ceiling{fastest_bandwidth(members, ops), said("memory.ceiling_measured")});
  }
}

void add_facts(Record& record, const StreamShare& share, StreamOp op, int ranks) {
  if (share.threads == 0) return;
  const std::string prefix = share.kind == "host" ? "" : "numa_";
  record.facts[prefix + "stores"] = share.variant.at(op);
  record.facts[prefix + "threads_per_rank"] = std::to_string(share.threads);
  record.facts[prefix + "array_bytes_per_rank"] = std::to_string(share.elements * sizeof(double));
  if (ranks > 1) record.facts[prefix + "ranks_per_host"] = std::to_string(ranks);
}

// All kernels take turns in one measurement, as STREAM has it: they are one point.
std::vector<Record> measure_stream(Context& context, const Params& params, const StreamPlan& plan,
                                   const RankCores& cores) {
  std::vector<Record> records;
  for (const StreamOp op : plan.ops)
    records.push_back({.case_name = "bandwidth", .params = point(params, stream_op_name(op))});
  const std::vector<StreamPhase> phases = phases_of(context, params, cores);
  for (const StreamPhase& phase : phases) {
    context.progress.update(0, fmt::format("STREAM {} {}", phase.kind, phase.id));
    require_memory(context, static_cast<int64_t>(3 * phase.elements * sizeof(double)));
    const StreamShare mine = run_stream(context, phase, plan);
    const std::vector<StreamShare> all = gather_shares(context.comm, mine);
    for (size_t i = 0; i < plan.ops.size(); ++i) {
      add_check(records[i], context, phase, mine);
      add_metrics(records[i], all, plan.ops, plan.ops[i]);
      add_facts(records[i], mine, plan.ops[i], context.place.local_size);
    }
  }
  for (Record& r : records) {
    if (cores.oversubscribed) r.notes.push_back(said("gemm.crowded"));
    if (params.has("size") && params.integer("size") < 4 * cores.machine.llc_bytes)
      r.notes.push_back(said("memory.small_arrays", format_size(cores.machine.llc_bytes)));
  }
  return records;
}

// One CPU for the latency of each NUMA node that this rank may use.
std::vector<StreamPhase> chase_places(const Context& context, const RankCores& cores) {
  const std::vector<Core>& all = cores.machine.cores;
  std::vector<StreamPhase> out;
  for (const int node : cores.machine.nodes) {
    const auto core =
        std::find_if(all.begin(), all.end(), [&](const Core& c) { return c.node == node; });
    out.push_back({"numa", std::to_string(node), {core->cpus.at(0)}});
  }
  if (out.size() == 1) {
    out[0].kind = "host";
    out[0].id = context.place.host;
  }
  return out;
}

void chase(Context& context, Record& record, const StreamPhase& place, int64_t bytes,
           uint64_t seed) {
  const size_t entity = record.entity({context.place.host, place.kind, place.id});
  const KeepAffinity keep;
  bind_thread(place.cpus);
  PointerChase set(bytes, seed);
  if (plants_fault(context, record.params)) set.spoil();
  const uint64_t length = set.cycle_length();  // also brings the set into the caches it fits
  context.watchdog.progress();
  Check check{.name = "cycle",
              .passed = length == set.lines(),
              .value = static_cast<double>(length),
              .limit = static_cast<double>(set.lines()),
              .entity = entity};
  if (!check.passed) check.detail = said("memory.cycle_broken", context.who(), length, set.lines());
  record.checks.push_back(std::move(check));
  if (length != set.lines()) return;
  SamplePlan plan{.warm_up_seconds = 0.2, .together = false};
  plan.stop.max_seconds = 0.5;
  const SampleRun run = context.sampler.measure_self_timed(
      plan, [&] { return set.run(kChaseSteps) / static_cast<double>(kChaseSteps); });
  record.add("latency_seconds", entity, run.seconds);
}

// The first rank of each host measures while its other ranks wait: a loaded memory answers later.
Record measure_latency(Context& context, const Params& params, const RankCores& cores,
                       int64_t size) {
  Record record{.case_name = "bandwidth", .params = point(params, "latency").with("size", size)};
  const bool mine = context.place.first_on_host();
  require_memory(context, mine ? size + size / 16 : 0);
  if (mine) {
    for (const StreamPhase& place : chase_places(context, cores))
      chase(context, record, place, size, static_cast<uint64_t>(params.integer("seed")));
    record.facts = {{"pages", said("memory.huge_pages")}, {"order", said("memory.random_cycle")}};
  }
  context.watchdog.note("waiting for the ranks that measure");
  context.comm.barrier();
  return record;
}

// Working sets of the latency, none where it was not asked for.
std::vector<int64_t> chase_sizes(const Params& params) {
  const std::vector<std::string> ops = params.texts("op");
  if (std::find(ops.begin(), ops.end(), "latency") == ops.end()) return {};
  return sizes_of(params, 4096, int64_t{1} << 30);
}

// Every rank has arrays for STREAM; the latency is measured by the first rank of each host.
std::vector<int> measuring_ranks(const Context& context, const Params& params) {
  const std::vector<std::string> ops = params.texts("op");
  const bool streams = std::ranges::any_of(ops, [](const auto& op) { return op != "latency"; });
  const std::vector<int>& hosts = context.place.host_of_rank;
  std::vector<int> out;
  for (auto rank = hosts.begin(); rank != hosts.end(); ++rank) {
    if (streams || std::find(hosts.begin(), rank, *rank) == rank)
      out.push_back(static_cast<int>(rank - hosts.begin()));
  }
  return out;
}

std::vector<Record> run(Context& context, const Params& params) {
  const std::vector<int64_t> sizes = chase_sizes(params);  // bad ones before anything is measured
  if (params.has("inject-fault"))
    require_faulty_rank_among(context, params, measuring_ranks(context, params),
                              "fault.measures_nothing");
  const RankCores cores = cores_of_rank(context.comm, context.place);
  const StreamPlan plan = plan_of(context, params);
  std::vector<PointName> names;
  if (!plan.ops.empty()) names.push_back({streams_together(params, plan), "STREAM"});
  const size_t streams = names.size();
  for (const int64_t size : sizes)
    names.push_back({point(params, "latency").with("size", size), "latency " + format_size(size)});
  return run_points(context, "bandwidth", names, [&](size_t i) -> std::vector<Record> {
    if (i < streams) return measure_stream(context, params, plan, cores);
    return {measure_latency(context, params, cores, sizes[i - streams])};
  });
}

}  // namespace

Case bandwidth_cpu_case() { return {describe(), run}; }

}  // namespace cb
