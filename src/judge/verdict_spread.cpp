#include "judge/verdict_spread.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

struct PartValue {
  const Entity* part;
  double value;
};

using HostAndKind = std::pair<std::string, std::string>;

std::map<HostAndKind, std::vector<PartValue>> parts_of_hosts(const Record& record,
                                                             const MetricRule& rule) {
  std::map<HostAndKind, std::vector<PartValue>> out;
  for (const Metric& metric : record.metrics) {
    const Entity& e = record.entities.at(metric.entity);
    if (metric.name != rule.metric || e.host.empty() || e.peer || metric.samples.empty()) continue;
    out[{e.host, e.kind}].push_back({&e, statistic_of(metric.samples.summary(), rule.statistic)});
  }
  return out;
}

Finding host_finding(const std::string& host, const std::string& unit, double value, double limit) {
  Finding f;
  f.entity = {host, "host", ""};
  f.unit = unit;
  f.value = value;
  f.limit = limit;
  f.limit_is_minimum = false;
  f.failing = value > limit;
  f.badness = limit == 0 ? value : (value - limit) / limit;
  return f;
}

void compare(const std::string& host, const std::string& unit, const std::vector<PartValue>& parts,
             const MetricRule& rule, std::vector<Finding>& out) {
  const auto [low, high] = std::ranges::minmax_element(parts, {}, &PartValue::value);
  const std::string lowest = entity_name(*low->part), highest = entity_name(*high->part);
  if (rule.max_spread_of_host) {
    const double spread = high->value - low->value, limit = *rule.max_spread_of_host;
    out.push_back(host_finding(host, unit, spread, limit));
    if (out.back().failing)
      out.back().detail = {
          {"why.spread", {highest, format_value(spread, unit), lowest, format_value(limit, unit)}}};
  }
  if (rule.max_ratio_of_host) {
    const double ratio = high->value / low->value, limit = *rule.max_ratio_of_host;
    out.push_back(host_finding(host, "×", ratio, limit));
    if (out.back().failing)
      out.back().detail = {
          {"why.ratio",
           {highest, fmt::format("{:.3g}", ratio), lowest, fmt::format("{:.3g}", limit)}}};
  }
}

std::string unit_of(const Record& record, const std::string& metric) {
  const auto found = std::ranges::find(record.metrics, metric, &Metric::name);
  return found == record.metrics.end() ? "" : found->unit;
}

}  // namespace

SpreadEvidence spread_of_hosts(const Record& record, const MetricRule& rule) {
  SpreadEvidence out;
  const std::string unit = unit_of(record, rule.metric);
  for (const auto& [key, parts] : parts_of_hosts(record, rule)) {
    const auto& [host, kind] = key;
    const bool no_ratio =
        rule.max_ratio_of_host &&
        std::ranges::any_of(parts, [](const PartValue& p) { return p.value <= 0; });
    if (parts.size() < 2 || no_ratio)
      out.gaps.push_back({host, {"gap.spread", {host, std::to_string(parts.size()), rule.metric}}});
    else
      compare(host, unit, parts, rule, out.findings);
  }
  return out;
}

}  // namespace cb
