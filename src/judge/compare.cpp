#include "judge/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "core/mann_whitney.h"
#include "core/stats.h"
#include "judge/compare_parts.h"
#include "judge/outliers.h"

namespace cb {
namespace {

constexpr double kSignificance = 0.01;
constexpr double kMinEffect = 0.02;
constexpr double kMinSpreads = 3;

std::string key_of(const MetricGroup& g) {
  return g.step->id + "|" + g.case_name + "|" + g.metric + "|" + g.entity_kind + "|" +
         params_key(g.params);
}

// Returns the samples. A histogram gives the middles of its buckets, each repeated by its count,
// all counts scaled down to a bound.
std::vector<double> samples_of(const Samples& samples) {
  const Histogram* histogram = samples.histogram();
  if (histogram == nullptr) return {samples.list().begin(), samples.list().end()};
  constexpr double kMax = 2000;
  const double share = std::min(1.0, kMax / static_cast<double>(histogram->count()));
  std::vector<double> out;
  for (const auto& [bucket, count] : histogram->buckets()) {
    const auto n = static_cast<size_t>(std::ceil(static_cast<double>(count) * share));
    out.insert(out.end(), n, Histogram::bucket_middle(bucket));
  }
  return out;
}

void decide(Change& change) {
  const std::vector<double> a = samples_of(change.a->metric->samples);
  const double before = change.a->summary.median;
  const double spread = before == 0 ? 0 : median_absolute_deviation(a) / std::abs(before);
  const bool large = std::abs(change.share) > std::max(kMinEffect, kMinSpreads * spread);
  const bool worse = change.before->better == Better::higher ? change.share < 0 : change.share > 0;
  if (!large) return;
  if (change.p < kSignificance)
    change.kind = worse ? ChangeKind::worse : ChangeKind::better;
  else if (change.p_alone < kSignificance ||
           smallest_p(change.a->summary.n, change.b->summary.n) >= kSignificance)
    change.kind = ChangeKind::undecided;
}

// A change from 0 has no share: it counts as infinite, larger than any least effect.
double share_of_change(double before, double after) {
  if (before != 0) return (after - before) / std::abs(before);
  return after == 0 ? 0 : std::copysign(std::numeric_limits<double>::infinity(), after);
}

void add_changes(Comparison& out, const MetricGroup& before, const MetricGroup& after) {
  std::map<Entity, const MeasuredValue*> known;
  for (const MeasuredValue& v : before.values) known.emplace(out.hosts.after(*v.entity), &v);
  for (const MeasuredValue& v : after.values) {
    const auto found = known.find(*v.entity);
    if (found == known.end()) continue;
    const double a = found->second->summary.median;
    Change change{.before = &before, .after = &after, .a = found->second, .b = &v};
    change.share = share_of_change(a, v.summary.median);
    const std::vector<double> sa = samples_of(change.a->metric->samples);
    const std::vector<double> sb = samples_of(v.metric->samples);
    const auto exact = exact_mann_whitney(sa, sb);
    change.p_alone = exact ? *exact : mann_whitney(sa, sb);
    out.changes.push_back(change);
  }
}

// Worse changes come first; among equals, the larger change.
bool comes_first(const Change& a, const Change& b) {
  const auto rank = [](const Change& c) {
    return c.kind == ChangeKind::worse       ? 0
           : c.kind == ChangeKind::undecided ? 1
           : c.kind == ChangeKind::better    ? 2
                                             : 3;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return std::abs(a.share) > std::abs(b.share);
}

void decide_all(std::vector<Change>& changes) {
  std::vector<double> p;
  for (const Change& c : changes) p.push_back(c.p_alone);
  const std::vector<double> q = adjusted_for_discovery(p);
  for (size_t i = 0; i < changes.size(); ++i) {
    changes[i].p = q[i];
    decide(changes[i]);
  }
  std::ranges::stable_sort(changes, comes_first);
}

}  // namespace

const char* change_name(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::same:
      return "same";
    case ChangeKind::better:
      return "better";
    case ChangeKind::worse:
      return "worse";
    case ChangeKind::undecided:
      return "undecided";
  }
  return "";
}

size_t Comparison::count(ChangeKind kind) const {
  return static_cast<size_t>(std::ranges::count(changes, kind, &Change::kind));
}

double mann_whitney(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 1;
  std::vector<std::pair<double, bool>> all;
  for (const double v : a) all.emplace_back(v, true);
  for (const double v : b) all.emplace_back(v, false);
  std::ranges::sort(all);
  const auto n = static_cast<double>(all.size());
  double rank_sum = 0, ties = 0;
  for (size_t i = 0; i < all.size();) {
    size_t end = i;
    while (end < all.size() && all[end].first == all[i].first) ++end;
    const auto same = static_cast<double>(end - i);
    const double rank = (static_cast<double>(i + 1) + static_cast<double>(end)) / 2;
    for (size_t k = i; k < end; ++k) rank_sum += all[k].second ? rank : 0;
    ties += same * (same * same - 1);
    i = end;
  }
  const auto na = static_cast<double>(a.size()), nb = static_cast<double>(b.size());
  const double u = rank_sum - na * (na + 1) / 2;
  const double variance = na * nb / 12 * ((n + 1) - ties / (n * (n - 1)));
  if (!(variance > 0)) return 1;
  const double distance = std::max(0.0, std::abs(u - na * nb / 2) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

size_t Comparison::lost() const {
  return static_cast<size_t>(std::ranges::count(missing, true, &Unmatched::lost));
}

bool Comparison::worse() const {
  const auto is_worse_kind = [](const auto& c) { return c.kind == ChangeKind::worse; };
  return count(ChangeKind::worse) > 0 || lost() > 0 || !hosts.gone.empty() ||
         std::ranges::any_of(checks, is_worse_kind) ||
         std::ranges::any_of(verdicts, is_worse_kind) || is_worse(overall_after, overall_before);
}

bool Comparison::open() const {
  return changes.empty() || count(ChangeKind::undecided) > 0 || !missing.empty() ||
         !doubts_before.empty() || !doubts_after.empty() ||
         std::ranges::any_of(
             verdicts, [](const VerdictChange& v) { return v.kind == ChangeKind::undecided; });
}

ExitCode exit_code(const Comparison& comparison) {
  if (comparison.worse()) return ExitCode::not_accepted;
  return comparison.open() ? ExitCode::incomplete : ExitCode::ok;
}

Comparison compare_campaigns(const Compared& before, const Compared& after,
                             const std::vector<MappedHost>& map) {
  Comparison out{.fingerprint = fingerprint_differences(before.campaign, after.campaign),
                 .hosts = match_hosts(before.campaign, after.campaign, map)};
  std::map<std::string, const MetricGroup*> earlier;
  for (const MetricGroup& g : before.groups) earlier.emplace(key_of(g), &g);
  for (const MetricGroup& g : after.groups) {
    const auto found = earlier.find(key_of(g));
    if (found != earlier.end()) add_changes(out, *found->second, g);
  }
  decide_all(out.changes);
  out.missing = missing_figures(before, after, out.hosts);
  out.added = added_figures(before, after, out.hosts);
  out.checks = compare_checks(before, after, out.hosts, out.missing);
  out.verdicts = compare_verdicts(before, after);
  out.overall_before = before.judgement.overall();
  out.overall_after = after.judgement.overall();
  out.doubts_before = before.judgement.doubts;
  out.doubts_after = after.judgement.doubts;
  return out;
}

}  // namespace cb
