#include "analysis/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/outliers.h"
#include "core/mann_whitney.h"
#include "core/stats.h"

namespace cb {
namespace {

constexpr double kSignificance = 0.01;
constexpr double kLeastEffect = 0.02;
constexpr double kLeastSpreads = 3;

// What must be the same for figures to be comparable (attributes of the first part of a kind).
constexpr std::array<std::pair<const char*, const char*>, 14> kKeys{{
    {"system", "kernel"},
    {"cpu", "model"},
    {"cpu", "governor"},
    {"memory", "total_bytes"},
    {"gpu", "model"},
    {"gpu", "power_limit_watts"},
    {"gpu", "vbios"},
    {"rdma", "firmware"},
    {"rdma", "rate_bits_per_second"},
    {"driver", "version"},
    {"nvme", "model"},
    {"nvme", "firmware"},
    {"library", "version"},
    {"system", "bios_version"},
}};

std::string values_of(const Campaign& c, const char* kind, const char* attribute) {
  std::set<std::string> values;
  for (const HostInventory& host : c.inventories) {
    for (const Part* part : host.all(kind)) {
      if (const auto text = text_of(part, attribute))
        values.insert(part->kind == "library" ? part->id + " " + *text : *text);
    }
  }
  std::string out;
  for (const std::string& v : values) out += (out.empty() ? "" : ", ") + v;
  return out;
}

// "32: n01 … n32", so that one exchanged host is seen.
std::string names_of(std::vector<std::string> hosts) {
  std::ranges::sort(hosts);
  return fmt::format("{}: {}", hosts.size(), fmt::join(hosts, " "));
}

std::string part_counts(const Campaign& c, const char* kind) {
  std::set<size_t> counts;
  for (const HostInventory& host : c.inventories) counts.insert(host.all(kind).size());
  std::string out;
  for (const size_t n : counts) out += (out.empty() ? "" : ", ") + std::to_string(n);
  return out;
}

// Environment variables of all jobs as one text.
std::string environment_of(const Campaign& c) {
  std::set<std::string> lines;
  for (const Job& job : c.jobs) {
    if (!job.document) continue;
    for (const auto& [name, value] : job.document->run.environment)
      lines.insert(name + "=" + value);
  }
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : " ") + line;
  return out;
}

std::string step_text(const Step& step) {
  std::string out = step.case_name;
  for (const auto& [name, values] : step.params) {
    out += " " + name;
    for (const std::string& value : values) out += " " + value;
  }
  for (const auto& [name, value] : step.env) out += " " + name + "=" + value;
  return out;
}

std::map<std::string, std::string> steps_of(const Profile& profile) {
  std::map<std::string, std::string> out;
  for (const Step& step : profile.steps) out[step.id] = step_text(step);
  return out;
}

std::vector<FingerprintDifference> fingerprint_differences(const Campaign& a, const Campaign& b) {
  std::vector<FingerprintDifference> out;
  const auto add = [&](std::string what, std::string before, std::string after) {
    if (before != after) out.push_back({std::move(what), std::move(before), std::move(after)});
  };
  add("profile", a.profile.name, b.profile.name);
  add("profile.sha256", a.profile.sha256, b.profile.sha256);
  add("tool.version", a.tool.version, b.tool.version);
  add("tool.commit", a.tool.commit, b.tool.commit);
  add("hosts", names_of(a.hosts), names_of(b.hosts));
  add("launcher", a.launcher, b.launcher);
  auto steps_before = steps_of(a.profile), steps_after = steps_of(b.profile);
  for (const auto& [id, text] : steps_before) steps_after.try_emplace(id);
  for (const auto& [id, text] : steps_after) add("step " + id, steps_before[id], text);
  for (const auto& [kind, attribute] : kKeys)
    add(fmt::format("{}.{}", kind, attribute), values_of(a, kind, attribute),
        values_of(b, kind, attribute));
  for (const char* kind : {"gpu", "rdma", "nvme"})
    add(fmt::format("{}.count", kind), part_counts(a, kind), part_counts(b, kind));
  add("environment", environment_of(a), environment_of(b));
  return out;
}

std::string key_of(const MetricGroup& g) {
  std::string out = g.step->id + "|" + g.case_name + "|" + g.metric + "|" + g.entity_kind + "|";
  for (const auto& [name, values] : g.params.all()) {
    out += name + "=";
    for (const ParamValue& v : values) out += to_text(v) + ",";
    out += ";";
  }
  return out;
}

std::string label_of(const MetricGroup& g) { return g.step->id + " " + g.metric; }

// The samples, or of a histogram its buckets' middles, weighted by being repeated up to a bound.
std::vector<double> samples_of(const Samples& samples) {
  const Histogram* histogram = samples.histogram();
  if (histogram == nullptr) return {samples.raw().begin(), samples.raw().end()};
  constexpr double kMost = 2000;
  const double share = std::min(1.0, kMost / static_cast<double>(histogram->count()));
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
  const bool large = std::abs(change.share) > std::max(kLeastEffect, kLeastSpreads * spread);
  const bool worse = change.before->better == Better::higher ? change.share < 0 : change.share > 0;
  if (!large) return;
  if (change.p < kSignificance)
    change.kind = worse ? ChangeKind::worse : ChangeKind::better;
  else if (change.p_alone < kSignificance ||
           smallest_p(change.a->summary.n, change.b->summary.n) >= kSignificance)
    change.kind = ChangeKind::undecided;
}

void add_changes(Comparison& out, const MetricGroup& before, const MetricGroup& after) {
  std::map<Entity, const MeasuredValue*> known;
  for (const MeasuredValue& v : before.values) known.emplace(*v.entity, &v);
  for (const MeasuredValue& v : after.values) {
    const auto found = known.find(*v.entity);
    if (found == known.end()) continue;
    const double a = found->second->summary.median;
    Change change{.before = &before, .after = &after, .a = found->second, .b = &v};
    change.share = a == 0 ? 0 : (v.summary.median - a) / std::abs(a);
    const std::vector<double> sa = samples_of(change.a->metric->samples);
    const std::vector<double> sb = samples_of(v.metric->samples);
    const auto exact = exact_mann_whitney(sa, sb);
    change.p_alone = exact ? *exact : mann_whitney(sa, sb);
    out.changes.push_back(change);
  }
}

// Worse first, the larger the change the earlier.
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

Comparison compare_campaigns(const Campaign& before, const std::vector<MetricGroup>& groups_before,
                             const Campaign& after, const std::vector<MetricGroup>& groups_after) {
  Comparison out{.fingerprint = fingerprint_differences(before, after)};
  std::map<std::string, const MetricGroup*> earlier;
  for (const MetricGroup& g : groups_before) earlier.emplace(key_of(g), &g);
  std::set<std::string> matched;
  for (const MetricGroup& g : groups_after) {
    const auto found = earlier.find(key_of(g));
    if (found == earlier.end()) {
      out.only_after.push_back(label_of(g));
      continue;
    }
    matched.insert(found->first);
    add_changes(out, *found->second, g);
  }
  for (const auto& [key, group] : earlier) {
    if (!matched.contains(key)) out.only_before.push_back(label_of(*group));
  }
  std::vector<double> p;
  for (const Change& c : out.changes) p.push_back(c.p_alone);
  const std::vector<double> q = adjusted_for_discovery(p);
  for (size_t i = 0; i < out.changes.size(); ++i) {
    out.changes[i].p = q[i];
    decide(out.changes[i]);
  }
  std::ranges::stable_sort(out.changes, comes_first);
  return out;
}

}  // namespace cb
