#include "judge/setting_verdict.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/stats.h"
#include "core/student_t.h"
#include "judge/measured.h"

namespace cb {
namespace {

constexpr double kOutsideInterval = 0.05;  // two-sided

// The figures of one side of a setting, or of the control, by block.
using SettingFigures = std::map<size_t, double>;

struct Side {
  SettingFigures figures;
  size_t jobs = 0;      // that have this point
  bool told = true;     // all of their records have the proof
  bool all_on = true;   // every part of every record has it
  bool some_on = true;  // some part of every record has it
  bool all_off = true;
};

struct SettingSides {
  Params params;
  Side off, on;
  SettingFigures control;
};

void read_proof(const Record& record, const SettingRule& rule, Side& side) {
  bool any = false, some = false;
  for (const Metric& m : record.metrics) {
    if (m.name != rule.proof || m.samples.empty()) continue;
    any = true;
    const double value = m.samples.summary().median;
    some = some || value > 0;
    side.all_on = side.all_on && value >= 1;
    side.all_off = side.all_off && value == 0;
  }
  side.told = side.told && any;
  side.some_on = side.some_on && some;
}

std::optional<double> worst_figure(const Record& record, const MetricDef& metric) {
  std::optional<double> out;
  for (const Metric& m : record.metrics) {
    if (m.name != metric.name || m.samples.empty()) continue;
    const double value = m.samples.summary().median;
    if (!out || (metric.better == Better::higher ? value < *out : value > *out)) out = value;
  }
  return out;
}

std::vector<SettingSides> sides_by_point(const SettingRule& rule, const std::vector<SweepRun>& runs,
                                         const MetricDef& metric) {
  std::vector<SettingSides> out;
  std::map<std::string, size_t> index;
  for (const SweepRun& run : runs) {
    if (run.document == nullptr) continue;
    for (const Record& record : run.document->records) {
      const auto [place, fresh] = index.try_emplace(params_key(record.params), out.size());
      if (fresh) out.push_back({.params = record.params, .off = {}, .on = {}, .control = {}});
      SettingSides& sides = out[place->second];
      Side& side = run.combination == 0 ? sides.off : sides.on;
      ++side.jobs;
      read_proof(record, rule, side);
      const auto figure = worst_figure(record, metric);
      if (!figure || *figure <= 0) continue;
      (run.control ? sides.control : side.figures)[run.block] = *figure;
    }
  }
  return out;
}

SettingProof proof_of(const Side& side, bool as_set) {
  if (side.jobs == 0 || !side.told) return SettingProof::untold;
  return as_set ? SettingProof::shown : SettingProof::refuted;
}

std::optional<double> median_figure(const SettingFigures& figures) {
  if (figures.empty()) return std::nullopt;
  std::vector<double> values;
  for (const auto& [block, value] : figures) values.push_back(value);
  return median(values);
}

// Logarithms of how much better b is than a, over the blocks that have both.
std::vector<double> gains(const SettingFigures& a, const SettingFigures& b, Better better) {
  std::vector<double> out;
  for (const auto& [block, value] : a) {
    const auto other = b.find(block);
    if (other == b.end()) continue;
    const double gain = std::log(other->second) - std::log(value);
    out.push_back(better == Better::higher ? gain : -gain);
  }
  return out;
}

void add_ratio(SettingPoint& point, const SettingSides& sides, Better better) {
  const std::vector<double> logs = gains(sides.off.figures, sides.on.figures, better);
  if (logs.empty()) return;
  const double middle = mean(logs);
  point.ratio = std::exp(middle);
  if (const auto deviation = standard_deviation(logs)) {
    const auto n = static_cast<double>(logs.size());
    const double half = student_t_quantile(kOutsideInterval, n - 1) * *deviation / std::sqrt(n);
    point.low = std::exp(middle - half);
    point.high = std::exp(middle + half);
  }
  const std::vector<double> same = gains(sides.off.figures, sides.control, better);
  if (!same.empty()) point.control = std::expm1(mean(same));
}

std::string times(double ratio) { return fmt::format("{:.3g}", ratio); }

Message unproved(const SettingPoint& point, const SettingRule& rule) {
  if (point.proof_on == SettingProof::refuted)
    return {"setting.not_taken", {rule.variable, rule.on, rule.proof}};
  if (point.proof_off == SettingProof::refuted)
    return {"setting.not_off", {rule.variable, rule.off, rule.proof}};
  return {"setting.untold", {rule.proof}};
}

void decide_ratio(SettingPoint& point, double least) {
  const auto conclude = [&](State state, Message why) {
    point.state = state;
    point.why = std::move(why);
  };
  if (!point.low || !point.control)
    return conclude(State::incomplete, {"setting.too_few", {times(*point.ratio)}});
  if (*point.high < least)
    return conclude(State::fail, {"setting.below", {times(*point.ratio), times(least)}});
  const double lead = std::abs(*point.ratio - 1);
  if (std::abs(*point.control) >= lead && lead > 0)
    return conclude(State::incomplete,
                    {"setting.noise", {fmt::format("{:.1f}", std::abs(*point.control) * 100)}});
  if (*point.low < least)
    return conclude(State::incomplete,
                    {"setting.unsure", {times(*point.low), times(*point.high), times(least)}});
  conclude(State::pass, {"setting.reached", {times(*point.ratio), times(least)}});
}

// Jobs that gave this point no figure: a setting under which jobs crash does not pass by those that
// did not.
void open_where_jobs_are_missing(SettingPoint& point, size_t jobs) {
  if (point.state != State::pass || point.figures >= jobs) return;
  point.state = State::incomplete;
  point.why = {"setting.jobs_missing",
               {std::to_string(jobs - point.figures), std::to_string(jobs)}};
}

void decide(SettingPoint& point, const SettingRule& rule) {
  const bool proved =
      point.proof_on == SettingProof::shown && point.proof_off == SettingProof::shown;
  if (!proved) {
    const bool lost = rule.least_ratio && point.proof_on == SettingProof::refuted;
    point.state = lost ? State::fail : State::incomplete;
    point.why = unproved(point, rule);
  } else if (!point.ratio) {
    point.why = {"setting.no_figure", {}};
  } else if (rule.least_ratio) {
    decide_ratio(point, *rule.least_ratio);
  } else {
    point.state = State::pass;
    point.why = {"setting.proved", {times(*point.ratio)}};
  }
}

State worst_of(bool any, bool failed, bool open) {
  if (failed) return State::fail;
  return open || !any ? State::incomplete : State::pass;
}

}  // namespace

// https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html
const std::vector<SettingRule>& known_settings() {
  // SHARP halves what a host sends and receives: docs/methods/nccl.md. NVLS: 480 over 368 GB/s of
  // eight H200, NVIDIA/nccl issue 1455 and ml-engineering, network/benchmarks.
  static const std::vector<SettingRule> rules{
      {"nvls", "NCCL_NVLS_ENABLE", "0", "1", "in_switch_share", true, 1.1},
      {"sharp", "NCCL_COLLNET_ENABLE", "0", "1", "in_network_share", true, 1.3},
      {"pxn", "NCCL_PXN_DISABLE", "1", "0", "pxn_connections", false},
      {"registered", "NCCL_LOCAL_REGISTER", "0", "1", "registered_share", true},
      {"gdr", "NCCL_NET_GDR_LEVEL", "LOC", "SYS", "gpu_direct_share", true}};
  return rules;
}

const char* proof_name(SettingProof proof) {
  switch (proof) {
    case SettingProof::shown:
      return "shown";
    case SettingProof::refuted:
      return "refuted";
    case SettingProof::untold:
      break;
  }
  return "untold";
}

State SettingVerdict::state() const {
  const auto is = [&](State s) {
    return std::ranges::any_of(points, [&](const SettingPoint& p) { return p.state == s; });
  };
  return worst_of(!points.empty(), is(State::fail), is(State::incomplete));
}

State overall(const std::vector<SettingVerdict>& verdicts) {
  const auto is = [&](State s) {
    return std::ranges::any_of(verdicts, [&](const SettingVerdict& v) { return v.state() == s; });
  };
  return worst_of(!verdicts.empty(), is(State::fail), is(State::incomplete));
}

SettingVerdict judge_setting(const SettingRule& rule, const std::vector<SweepRun>& runs,
                             const MetricDef& metric) {
  SettingVerdict out{.rule = rule, .points = {}};
  for (const SettingSides& sides : sides_by_point(rule, runs, metric)) {
    SettingPoint point{.params = sides.params, .why = {}};
    point.off = median_figure(sides.off.figures);
    point.on = median_figure(sides.on.figures);
    point.proof_off = proof_of(sides.off, sides.off.all_off);
    point.proof_on = proof_of(sides.on, rule.on_every_part ? sides.on.all_on : sides.on.some_on);
    add_ratio(point, sides, metric.better);
    point.figures = sides.off.figures.size() + sides.on.figures.size() + sides.control.size();
    decide(point, rule);
    open_where_jobs_are_missing(point, runs.size());
    out.points.push_back(std::move(point));
  }
  return out;
}

}  // namespace cb
