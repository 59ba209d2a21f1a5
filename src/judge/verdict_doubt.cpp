#include "judge/verdict_doubt.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"
#include "judge/verdict_gaps.h"
#include "judge/verdict_limit.h"
#include "model/disturbance.h"

namespace cb {

std::optional<Message> doubt_of_interval(const Finding& f, const Summary& summary) {
  if (!summary.ci95 || !f.limit) return std::nullopt;
  const auto [low, high] = *summary.ci95;
  const bool open =
      f.limit_is_minimum ? low < *f.limit && *f.limit <= high : low <= *f.limit && *f.limit < high;
  if (!open) return std::nullopt;
  return Message{"why.unsure",
                 {entity_name(f.entity), format_value(low, f.unit), format_value(high, f.unit),
                  required_text(f)}};
}

std::optional<Message> doubt_of_attempts(const Finding& f, const Metric& metric,
                                         const std::string& statistic) {
  if (!f.failing) return std::nullopt;
  const auto met = std::ranges::count_if(metric.attempts, [&](const Summary& s) {
    const double value = statistic_of(s, statistic);
    return f.limit_is_minimum ? value >= *f.limit : value <= *f.limit;
  });
  if (met == 0) return std::nullopt;
  return Message{"why.disputed",
                 {entity_name(f.entity), std::to_string(met),
                  std::to_string(metric.attempts.size()), required_text(f)}};
}

std::optional<Message> doubt_of_disturbance(const Finding& f, const Entity& measured,
                                            const Record& record, const Job& job) {
  if (!f.failing || !can_suffer(f.unit)) return std::nullopt;
  const bool one_host = !measured.host.empty() && !measured.peer;
  const std::string host = one_host ? measured.host : "";
  if (!disturbed(record, host)) return std::nullopt;
  return Message{"why.disturbed",
                 {entity_name(f.entity), format_value(*f.value, f.unit), required_text(f),
                  fmt::format("{:.0f} %", 100 * *share_of_others(record, host)), job_place(job)}};
}

}  // namespace cb
