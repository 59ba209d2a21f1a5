#include "judge/env_sweep.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "core/stats.h"
#include "core/student_t.h"
#include "judge/measured.h"

namespace cb {
namespace {

constexpr double kFalseWinners = 0.05;  // share of sweeps of equal settings that name a winner

bool has_metric(const SweepRun& run, const std::string& name) {
  if (run.document == nullptr) return false;
  for (const Record& record : run.document->records) {
    for (const Metric& m : record.metrics) {
      if (m.name == name) return true;
    }
  }
  return false;
}

std::optional<double> worst_entity(const Record& record, const MetricDef& metric) {
  std::optional<double> out;
  for (const Metric& m : record.metrics) {
    if (m.name != metric.name || m.samples.empty()) continue;
    const double value = m.samples.summary().median;
    if (!out || (metric.better == Better::higher ? value < *out : value > *out)) out = value;
  }
  return out;
}

// The figures of one combination, or of the control, each by its block.
using BlockFigures = std::map<size_t, double>;

struct Treatments {
  std::map<size_t, BlockFigures> combinations;
  BlockFigures control;
};

// Mean and variance of the differences of logarithms, over the blocks that both have: a block's own
// speed is in both and cancels.
struct Paired {
  size_t blocks = 0;
  double mean = 0, variance = 0;
};

std::optional<Paired> paired(const BlockFigures& a, const BlockFigures& b) {
  std::vector<double> differences;
  for (const auto& [block, value] : a) {
    const auto other = b.find(block);
    if (other != b.end()) differences.push_back(std::log(value) - std::log(other->second));
  }
  const auto deviation = standard_deviation(differences);
  if (!deviation) return std::nullopt;
  return Paired{differences.size(), mean(differences), *deviation * *deviation};
}

// How much jobs of the same setting differ: the variance of a difference, over all pairs of
// treatments. In whole blocks it is twice the residual mean square of the two-way layout, with
// (treatments − 1)(blocks − 1) degrees of freedom (Scheffé, The Analysis of Variance, 1959, §4.2).
struct Residual {
  double variance = 0;
  double df = 0;
  size_t blocks = 0;
};

std::optional<Residual> residual(const Treatments& all) {
  std::vector<const BlockFigures*> jobs;
  for (const auto& [combination, figures] : all.combinations) jobs.push_back(&figures);
  if (!all.control.empty()) jobs.push_back(&all.control);
  double sum = 0, pairs = 0;
  size_t blocks = std::numeric_limits<size_t>::max();
  for (size_t i = 0; i < jobs.size(); ++i) {
    for (size_t k = i + 1; k < jobs.size(); ++k) {
      const auto pair = paired(*jobs[i], *jobs[k]);
      if (!pair) continue;
      sum += pair->variance;
      ++pairs;
      blocks = std::min(blocks, pair->blocks);
    }
  }
  if (pairs == 0) return std::nullopt;
  const auto treatments = static_cast<double>(jobs.size());
  return Residual{sum / pairs, (treatments - 1) * static_cast<double>(blocks - 1), blocks};
}

// Student's t of one difference. Its spread is the greater of the spread of all treatments and that
// of these two: a combination that scatters more than the others is not better for it.
double p_of(const Paired& pair, const Residual& all) {
  const bool own = pair.variance > all.variance;
  const double variance = own ? pair.variance : all.variance;
  const auto n = static_cast<double>(pair.blocks);
  if (pair.mean == 0) return 1;
  if (variance == 0) return 0;
  return student_t_p(pair.mean / std::sqrt(variance / n), own ? n - 1 : all.df);
}

bool all_positive(const Treatments& t) {
  const auto positive = [](const auto& job) { return job.second > 0; };
  return std::ranges::all_of(t.control, positive) &&
         std::ranges::all_of(t.combinations, [&](const auto& c) {
           return std::ranges::all_of(c.second, positive);
         });
}

std::vector<SweepFigure> ranked(const Treatments& t, Better better) {
  std::vector<SweepFigure> out;
  for (const auto& [combination, jobs] : t.combinations) {
    std::vector<double> values;
    for (const auto& [block, value] : jobs) values.push_back(value);
    if (!values.empty()) out.push_back({combination, median(values), values.size()});
  }
  std::ranges::stable_sort(out, [&](const SweepFigure& a, const SweepFigure& b) {
    return better == Better::higher ? a.median > b.median : a.median < b.median;
  });
  return out;
}

// What decides at one point, before all points are corrected together.
struct Contest {
  double p = 1;  // p of "the best is no better than one of the others"
  bool beyond_control = true;
  std::optional<Residual> noise;
};

// Compares the best with each of the others. The control must differ by less than the best leads.
Contest contest(SweepPoint& point, const Treatments& t, Better better) {
  Contest out{.noise = all_positive(t) ? residual(t) : std::nullopt};
  if (!out.noise || point.ranked.size() < 2) return out;
  const BlockFigures& best = t.combinations.at(point.ranked[0].combination);
  double worst = 0, lead = std::numeric_limits<double>::infinity();
  for (size_t i = 1; i < point.ranked.size(); ++i) {
    const auto pair = paired(best, t.combinations.at(point.ranked[i].combination));
    if (!pair) return out;
    // The medians made the order: if the means contradict it, no difference is claimed.
    const bool ahead = better == Better::higher ? pair->mean > 0 : pair->mean < 0;
    point.ranked[i].p = ahead ? p_of(*pair, *out.noise) : 1;
    worst = std::max(worst, point.ranked[i].p);
    lead = std::min(lead, std::abs(pair->mean));
  }
  out.p = worst;
  if (const auto same = paired(t.control, t.combinations.begin()->second)) {
    point.control = std::expm1(same->mean);
    out.beyond_control = std::abs(same->mean) < lead;
  }
  point.verdict = SweepVerdict::no_difference;
  return out;
}

// Holm (1979): the point with the smallest p gets the error divided by the number of points, the
// next one the error divided by one fewer, until a point fails.
void name_winners(std::vector<SweepPoint>& points, const std::vector<Contest>& contests) {
  std::vector<size_t> order;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].verdict == SweepVerdict::no_difference) order.push_back(i);
  }
  std::ranges::stable_sort(order, {}, [&](size_t i) { return contests[i].p; });
  const auto all = static_cast<double>(order.size());
  for (size_t i = 0; i < order.size(); ++i) {
    if (contests[order[i]].p > kFalseWinners / static_cast<double>(order.size() - i)) break;
    if (contests[order[i]].beyond_control) points[order[i]].verdict = SweepVerdict::best;
  }
  for (const size_t i : order) {
    const Residual& noise = *contests[i].noise;
    points[i].smallest = std::expm1(student_t_quantile(kFalseWinners / all, noise.df) *
                                    std::sqrt(noise.variance / static_cast<double>(noise.blocks)));
  }
}

// A combination under which jobs crash is not the best by those that did not.
void withdraw_unreliable(std::vector<SweepPoint>& points, const std::vector<SweepRun>& runs) {
  for (SweepPoint& point : points) {
    if (point.verdict != SweepVerdict::best) continue;
    const SweepFigure& first = point.ranked.front();
    const auto jobs = std::ranges::count_if(runs, [&](const SweepRun& run) {
      return !run.control && run.combination == first.combination;
    });
    if (std::cmp_less(first.jobs, jobs)) point.verdict = SweepVerdict::jobs_missing;
  }
}

// Groups the figures of all jobs by their point.
std::vector<std::pair<Params, Treatments>> figures_by_point(const std::vector<SweepRun>& runs,
                                                            const MetricDef& metric) {
  std::vector<std::pair<Params, Treatments>> out;
  std::map<std::string, size_t> index;
  for (const SweepRun& run : runs) {
    if (run.document == nullptr) continue;
    for (const Record& record : run.document->records) {
      const auto figure = worst_entity(record, metric);
      if (!figure) continue;
      const auto [place, fresh] = index.try_emplace(params_key(record.params), out.size());
      if (fresh) out.emplace_back(record.params, Treatments());
      Treatments& t = out[place->second].second;
      (run.control ? t.control : t.combinations[run.combination])[run.block] = *figure;
    }
  }
  return out;
}

}  // namespace

std::optional<MetricDef> sweep_metric(const CaseInfo& info, const std::vector<SweepRun>& runs) {
  for (const MetricDef& def : info.metrics) {
    if (std::any_of(runs.begin(), runs.end(),
                    [&](const SweepRun& r) { return has_metric(r, def.name); }))
      return def;
  }
  return std::nullopt;
}

std::vector<SweepPoint> rank_sweep(const std::vector<SweepRun>& runs, const MetricDef& metric) {
  std::vector<SweepPoint> points;
  std::vector<Contest> contests;
  for (const auto& [params, treatments] : figures_by_point(runs, metric)) {
    if (treatments.combinations.empty()) continue;  // this point has the control alone
    points.push_back({.params = params, .ranked = ranked(treatments, metric.better)});
    contests.push_back(contest(points.back(), treatments, metric.better));
  }
  name_winners(points, contests);
  withdraw_unreliable(points, runs);
  return points;
}

}  // namespace cb
