// Who is slow: pairs of hosts over a transport in rounds, the decision of src/model/locate, and
// the suspects measured once more alone with hosts that are sound. docs/methods/locate.md.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/cases.h"
#include "bench/harness/points.h"
#include "bench/harness/shared_params.h"
#include "bench/network/leaves.h"
#include "bench/network/pairs/findings.h"
#include "bench/network/pairs/groups.h"
#include "bench/network/pairs/room.h"
#include "bench/network/pairs/transports.h"
#include "core/param_builder.h"
#include "core/units.h"
#include "model/leaf_map.h"

namespace cb {
namespace {

using nlohmann::json;

// Two look the same from each other's side; of three the odd one is seen.
constexpr size_t kMinUnits = 3;
// With few rounds each is repeated, until a unit has sent about so many times.
constexpr int kSamplesPerUnit = 9;
constexpr int kConfirmations = 3;
// While noise hides what is looked for.
constexpr int kMaxSurveys = 4;
// More pairs than this are not measured alone one by one.
constexpr size_t kMaxAlone = 64;

CaseInfo describe() {
  using namespace param;
  return {
      .name = "locate",
      .device = "",
      .summary = "find the slow host, GPU, NIC, link or uplink by pairs of hosts",
      .example = "mpirun -np 64 --map-by ppr:1:node clusterbench locate --backend mpi --mode quick",
      .domain = "network",
      .needs = {.ranks = 2},
      .params =
          {choice("backend", transport_names())
               .help("transport that measures the pairs")
               .by_default("mpi"),
           choice("mode", {"quick", "full"})
               .help("quick: rounds grow with log N; full: every pair")
               .by_default("quick"),
           choice("measure", {"bandwidth", "latency"})
               .help("figure of each pair")
               .by_default("bandwidth"),
           choice("between", {"host", "rank"})
               .help("units to pair: hosts (their first ranks) or all ranks")
               .by_default("host"),
           flag("two-way").help("both of a pair send at once"),
           size("size")
               .help("bytes of a message; by default 1M, with nccl 16M, for latency 8")
               .range(1, 1 << 30),
           text("leaf-map")
               .help("file of lines HOST LEAF or HOST NIC LEAF, the result of fabric --json, or "
                     "ibnetdiscover's output: slow uplinks of leaves are named"),
           choice("memory", {"gpu", "host"})
               .help("memory for nccl; host is for a library that stands in for NCCL")
               .by_default("gpu"),
           duration("duration").help("duration of a round").by_default("200ms").range(0.001, 3600),
           integer("repeats")
               .help("repeats of every round; by default as few as the decision needs")
               .range(1, 1000),
           number("tolerance")
               .help("a smaller share below the fleet is no finding")
               .by_default("0.025")
               .range(0, 0.9),
           duration("round-deadline")
               .help("a pair that has not ended then, beyond --duration, has failed")
               .by_default("10s")
               .at_least(0.1),
           seed_param("of the quick rounds' order")},
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher, "that arrive, per pair"},
                  {"group_bytes_per_second", "bytes_per_second", Better::higher,
                   "of pairs inside a host or a rail, all of them at the same time"},
                  {"latency_seconds", "seconds", Better::lower, "half a round trip, per pair"}},
      .checks = {"no_suspect"},
      .fault = {.why_not = said("fault.no_compare")},
      .prints_suspects = true,
  };
}

// The ranks agree on whether all have the transport; the reason of one that has it not.
Said first_absence(Context& context, const OpenedTransport& opened) {
  const std::string mine =
      opened.transport ? "" : pack_said(said("said.of", context.who(), opened.absent));
  std::string found;
  for (const std::string& text : context.comm.gather(mine)) {
    if (found.empty()) found = text;
  }
  return unpack_said(context.comm.broadcast_text(found));
}

std::string rounds_to_text(const std::vector<Round>& rounds) {
  json out = json::array();
  for (const Round& round : rounds) {
    json pairs = json::array();
    for (const HostPair& p : round) pairs.push_back({p.from, p.to});
    out.push_back(std::move(pairs));
  }
  return out.dump();
}

std::vector<Round> rounds_from_text(const std::string& text) {
  std::vector<Round> out;
  for (const json& pairs : json::parse(text)) {
    Round round;
    for (const json& p : pairs) round.push_back({p[0], p[1]});
    out.push_back(std::move(round));
  }
  return out;
}

class Search {
 public:
  Search(Context& context, const Params& params, PairTransport& transport, std::vector<Unit> units)
      : context_(context),
        params_(params),
        measure_(params.text("measure") == "latency" ? PairMeasure::latency
                                                     : PairMeasure::bandwidth),
        rails_(static_cast<int>(context.comm.min(transport.rails()))),
        fleet_{.hosts = static_cast<int>(units.size()), .rails = rails_},
        transport_(transport),
        plan_(plan()),
        survey_(context, transport, units, plan_) {
    names_.units = std::move(units);
    names_.rail_kind = transport.rail_kind();
    for (int r = 0; r < rails_; ++r) names_.rails.push_back(transport.rail_name(r));
    read_leaves();
    if (rails_ == 1 && names_.rails[0].empty()) names_.rails.clear();
  }

  void run(Record& record) {
    require_memory_of_messages();
    compare_groups(record, ranks_of_hosts(context_.place));
    compare_groups(record, ranks_of_rails(context_.place));
    const std::vector<Round> rounds = schedule();
    readings_ = survey_.run(rounds, false);
    Located located = decide();
    int surveys = 1;
    while (surveys < kMaxSurveys && context_.comm.any(too_noisy(located, rounds, surveys))) {
      append(survey_.run(rounds, false));
      located = decide();
      ++surveys;
    }
    const size_t confirmed = confirm(located);
    if (confirmed > 0) located = decide();
    record.facts["rounds"] = said("locate.rounds", rounds.size() * static_cast<size_t>(surveys),
                                  names_.units.size() / 2, confirmed);
    if (!context_.comm.is_root()) return;
    add_pair_metrics(record, names_, readings_, measure_);
    add_findings(record, names_, readings_, located);
    // Nobody is cleared by a measurement that could not have seen them.
    const double least = least_detectable(located, rounds, surveys);
    const bool suspected = std::any_of(record.checks.begin(), record.checks.end(),
                                       [](const Check& c) { return !c.passed; });
    if (!suspected && least > worst_acceptable()) {
      record.checks.clear();
      record.outcome = Skipped{said("locate.noise", fmt::format("{:.0f}", located.noise * 100),
                                    fmt::format("{:.0f}", least * 100))};
    }
    record.facts["least_detectable"] = said(
        "locate.least", fmt::format("{:.1f}", least_detectable(located, rounds, surveys) * 100));
    record.facts["noise"] = said("locate.noise_of", fmt::format("{:.2f}", located.noise * 100));
    record.facts["units"] =
        said_count("locate.units_" + params_.text("between"), rails_, names_.units.size());
  }

 private:
  SurveyPlan plan() const {
    const bool latency = measure_ == PairMeasure::latency;
    SurveyPlan plan{.measure = measure_,
                    .two_way = params_.flag("two-way"),
                    .rails = rails_,
                    .bytes = latency ? 8 : transport_.usual_bytes(),
                    .seconds = params_.number("duration")};
    if (params_.has("size")) plan.bytes = static_cast<uint64_t>(params_.integer("size"));
    plan.deadline_seconds = plan.seconds + params_.number("round-deadline");
    return plan;
  }

  // Of every rail of every unit. Throws the same UsageError on all ranks.
  void read_leaves() {
    if (!params_.has("leaf-map")) return;
    const std::string text = net::read_leaf_map(context_, params_.text("leaf-map"));
    std::vector<std::string> hosts;
    for (const Unit& unit : names_.units) hosts.push_back(unit.host);
    Problems problems;
    NicLeaves leaves = nic_leaves(text, hosts, names_.rails, problems);
    if (!problems.empty()) throw UsageError("clusterbench locate", problems);
    fleet_.leaf = std::move(leaves.leaf);
    names_.leaves = std::move(leaves.names);
  }

  // Groups take all ranks of a host, whatever the units are. No rank is in two pairs of a round.
  void require_memory_of_messages() const {
    const bool all_ranks = params_.text("between") == "rank" ||
                           not_compared(ranks_of_hosts(context_.place)).empty() ||
                           not_compared(ranks_of_rails(context_.place)).empty();
    const uint64_t bytes = transport_.host_memory(
        {.two_way = plan_.two_way, .measure = measure_, .bytes = plan_.bytes});
    require_room(context_, bytes * static_cast<uint64_t>(rails_),
                 all_ranks ? context_.place.local_size : 1);
  }

  Said not_compared(const RankGroups& ranks) const {
    if (measure_ == PairMeasure::latency) return said("locate.only_bandwidth");
    return transport_.ranks_have_own_ways() ? ranks.not_compared : said("locate.shared_ways");
  }

  // Before the pairs of hosts: what is slow inside a host needs no other host to be seen.
  void compare_groups(Record& record, const RankGroups& ranks) {
    const Said why = not_compared(ranks);
    if (!why.empty()) {
      record.facts[ranks.fact] = said("locate.not_compared", why);
      return;
    }
    SurveyPlan plan = plan_;
    plan.rails = 1;
    const GroupFindings found =
        survey_groups(context_, transport_, plan, ranks,
                      static_cast<uint64_t>(params_.integer("seed")), options());
    if (context_.comm.is_root())
      add_group_findings(record, context_.place, ranks, found, worst_acceptable());
  }

  LocateOptions options() const { return {.tolerance = params_.number("tolerance")}; }

  // Both directions of every pair, repeated where there are few rounds.
  std::vector<Round> schedule() const {
    const bool full = params_.text("mode") == "full";
    std::vector<Round> rounds =
        full ? tournament(fleet_.hosts)
             : quick_survey(fleet_, static_cast<uint64_t>(params_.integer("seed")));
    const bool both_at_once = params_.flag("two-way") && measure_ == PairMeasure::bandwidth;
    if (!both_at_once) rounds = both_directions(rounds);
    const auto count = static_cast<int64_t>(rounds.size()) / (both_at_once ? 1 : 2);
    const int64_t repeats =
        params_.has("repeats")
            ? params_.integer("repeats")
            : std::max<int64_t>(1, (kSamplesPerUnit + count - 1) / std::max<int64_t>(1, count));
    std::vector<Round> out;
    for (int64_t i = 0; i < repeats; ++i) out.insert(out.end(), rounds.begin(), rounds.end());
    return out;
  }

  Located decide() const {
    if (!context_.comm.is_root()) return {};
    return locate(fleet_, to_samples(readings_, measure_), options());
  }

  // How far below the fleet a unit must be to be told from the noise: as the locator decides it.
  double least_detectable(const Located& located, const std::vector<Round>& rounds,
                          int surveys) const {
    const LocateOptions options;
    const double samples = std::max<double>(1, static_cast<double>(rounds.size()) / 2 * surveys);
    return std::max(params_.number("tolerance"),
                    options.sigmas * 1.2533 * located.noise / std::sqrt(samples));
  }

  // Twice what the caller tolerates cannot be seen yet, and more samples help. Rank 0 decides.
  bool too_noisy(const Located& located, const std::vector<Round>& rounds, int surveys) const {
    return context_.comm.is_root() &&
           least_detectable(located, rounds, surveys) * 2 > worst_acceptable();
  }

  double worst_acceptable() const { return std::max(0.05, 2 * params_.number("tolerance")); }

  void append(std::vector<PairReading> more) {
    readings_.insert(readings_.end(), std::make_move_iterator(more.begin()),
                     std::make_move_iterator(more.end()));
  }

  // Rank 0 says which pairs; all measure them. How many rounds it took.
  size_t confirm(const Located& located) {
    std::vector<Round> rounds;
    std::vector<HostPair> pairs = confirming_pairs(fleet_, located);
    for (const HostPair& p : failed_pairs(readings_)) {
      if (std::find(pairs.begin(), pairs.end(), p) == pairs.end()) pairs.push_back(p);
    }
    pairs.resize(std::min(pairs.size(), kMaxAlone));
    for (int i = 0; i < kConfirmations; ++i) {
      for (const HostPair& p : pairs) rounds.push_back({p});
    }
    rounds = rounds_from_text(context_.comm.broadcast_text(rounds_to_text(rounds)));
    append(survey_.run(rounds, true));
    return rounds.size();
  }

  Context& context_;
  const Params& params_;
  PairMeasure measure_;
  int rails_;
  FleetShape fleet_;
  PairTransport& transport_;
  SurveyPlan plan_;
  PairSurvey survey_;
  FleetNames names_ = {};
  std::vector<PairReading> readings_;
};

Record search(Context& context, const Params& params) {
  Record record{.case_name = "locate", .params = params};
  std::vector<Unit> units =
      params.text("between") == "rank" ? rank_units(context.place) : host_units(context.place);
  if (units.size() < kMinUnits) {
    record.outcome = Skipped{
        said(params.text("between") == "host" ? "locate.few_hosts_next" : "locate.few_ranks",
             kMinUnits, units.size())};
    return record;
  }
  const OpenedTransport opened =
      make_transport(params.text("backend"), context,
                     {.host_memory = params.text("memory") == "host",
                      .wait_seconds = params.number("duration") + params.number("round-deadline")});
  if (const Said absent = first_absence(context, opened); !absent.empty()) {
    record.outcome = Skipped{absent};
    return record;
  }
  record.facts["transport"] = opened.transport->name();
  Search(context, params, *opened.transport, std::move(units)).run(record);
  return record;
}

// One point: a search that ends early has cleared nobody and found nobody.
std::vector<Record> run(Context& context, const Params& params) {
  return run_points(context, "locate", {{params, "locate"}},
                    [&](size_t) { return std::vector<Record>{search(context, params)}; });
}

}  // namespace

Case locate_case() { return {describe(), run}; }

}  // namespace cb
