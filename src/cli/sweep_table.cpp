#include "cli/sweep_table.h"

#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/text.h"
#include "core/units.h"

namespace cb {

// Names the parameters in which the points differ.
std::string point_text(const std::vector<SweepPoint>& points, const SweepPoint& point) {
  std::string out;
  for (const auto& [name, values] : point.params.all()) {
    bool varies = false;
    for (const SweepPoint& other : points) {
      const auto found = other.params.all().find(name);
      varies |= found == other.params.all().end() || found->second != values;
    }
    if (!varies) continue;
    for (const ParamValue& v : values) {
      const bool size = name == "size" && std::holds_alternative<int64_t>(v);
      out += (out.empty() ? "" : " ") + (size ? format_size(std::get<int64_t>(v)) : to_text(v));
    }
  }
  return out;
}

const char* sweep_verdict_text(SweepVerdict verdict) {
  switch (verdict) {
    case SweepVerdict::best:
      return "best";
    case SweepVerdict::no_difference:
      return "no difference beyond noise";
    case SweepVerdict::jobs_missing:
      return "leads, but some of its jobs gave no figure";
    case SweepVerdict::too_few:
      return "cannot be told: too few jobs";
  }
  return "";
}

namespace {

std::string percent_behind(const SweepFigure& first, const SweepFigure& other) {
  return fmt::format("{:+.1f} %", (other.median / first.median - 1) * 100);
}

std::string share_cell(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f} %", std::abs(*value) * 100) : "";
}

}  // namespace

std::string sweep_table(const std::vector<SweepPoint>& points,
                        const std::vector<std::string>& combinations, const MetricDef& metric) {
  std::vector<std::vector<std::string>> rows{
      {"", metric.name, "first", "verdict", "second", "", "last", "A/A", "shown from"}};
  for (const SweepPoint& point : points) {
    const SweepFigure& first = point.ranked.front();
    std::vector<std::string> row{point_text(points, point), format_value(first.median, metric.unit),
                                 combinations[first.combination],
                                 sweep_verdict_text(point.verdict)};
    if (point.ranked.size() > 1) {
      row.push_back(combinations[point.ranked[1].combination]);
      row.push_back(percent_behind(first, point.ranked[1]));
      row.push_back(percent_behind(first, point.ranked.back()));
      row.push_back(share_cell(point.control));
      row.push_back(share_cell(point.smallest));
    }
    row.resize(rows[0].size());
    for (std::string& cell : row) cell = terminal_safe(cell);
    rows.push_back(std::move(row));
  }
  return text_table(rows, {false, true, false, false, false, true, true, true, true});
}

}  // namespace cb
