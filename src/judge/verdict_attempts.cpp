#include "judge/verdict_attempts.h"

#include <algorithm>

#include "core/stats.h"
#include "core/units.h"

namespace cb {
namespace {

struct Limit {
  double value = 0;
  bool minimum = true;
};

bool misses(double value, const Limit& limit) {
  return limit.minimum ? value < limit.value : value > limit.value;
}

// Every limit that the figure has; first the one that it comes nearest to.
std::vector<Limit> limits_of(const Finding& f, const MetricRule& rule) {
  std::vector<Limit> out;
  if (f.limit) out.push_back({*f.limit, f.limit_is_minimum});
  if (rule.min) out.push_back({*rule.min, true});
  if (rule.max) out.push_back({*rule.max, false});
  return out;
}

Message missed_message(const Finding& f, const std::vector<double>& values, const Limit& limit,
                       const char* id) {
  const auto missed = static_cast<size_t>(
      std::ranges::count_if(values, [&](double v) { return misses(v, limit); }));
  return {id,
          {entity_name(f.entity), values.size(), missed,
           (limit.minimum ? "≥ " : "≤ ") + format_value(limit.value, f.unit)}};
}

}  // namespace

HeldBack hold_to_first(Finding& f, const Metric& metric, const MetricRule& rule) {
  HeldBack out;
  if (metric.attempts.size() <= kDecidingAttempts || !rule.since.empty()) return out;
  std::vector<double> values;
  for (const Summary& s : metric.attempts) values.push_back(statistic_of(s, rule.statistic));
  const std::vector<double> first(values.begin(), values.begin() + kDecidingAttempts);
  for (const Limit& limit : limits_of(f, rule)) {
    const auto is_missed = [&](double v) { return misses(v, limit); };
    const auto missed = static_cast<size_t>(std::ranges::count_if(first, is_missed));
    if (2 * missed >= kDecidingAttempts) {
      out.fails = missed == kDecidingAttempts;
      out.open = !out.fails;
      out.what = missed_message(f, values, limit, "why.missed_first");
      f.limit = limit.value;
      f.limit_is_minimum = limit.minimum;
      if (out.fails) f.value = median(first);
      return out;
    }
    if (std::ranges::any_of(values, is_missed))
      out.what = missed_message(f, values, limit, "why.missed_some");
  }
  return out;
}

std::string file_of_check(const Job& job, const Check& check) {
  const Message& said = check.detail.message();
  if (!said.id.starts_with("again.in_attempt") || said.args.empty()) return job.file;
  const std::string number = said.args.front().in(Lang::en).value_or("");
  const auto found = std::ranges::find_if(job.attempts, [&](const JobAttempt& attempt) {
    return std::to_string(attempt.number) == number;
  });
  return found == job.attempts.end() ? job.file : found->file;
}

}  // namespace cb
