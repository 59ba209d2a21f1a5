#include "cli/sweep_chart.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/svg.h"
#include "core/units.h"
#include "report/chart.h"

namespace cb {
namespace {

constexpr const char* kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;color:#1b2430;max-width:1000px;margin:24px auto;"
    "padding:0 16px}table{border-collapse:collapse;font-size:13px;margin-top:16px}"
    "td,th{border-bottom:1px solid #d8dee6;padding:3px 10px;text-align:right}"
    "td:first-child,th:first-child{text-align:left}.best{font-weight:700}"
    "svg{width:100%;height:auto;font-family:inherit}.lbl{font-size:11px;fill:#1b2430}"
    ".tick{font-size:11px;fill:#5b6675}.q0{fill:#f3d9b1}.q1{fill:#dfe3c4}.q2{fill:#b9d3cf}"
    ".q3{fill:#7fb2c4}.q4{fill:#2f7fa8}";

// The figure as a share of the point's first one, which has 1.
double share(const SweepPoint& point, const SweepFigure& figure, Better better) {
  const double best = point.ranked.front().median;
  return better == Better::higher ? figure.median / best : best / figure.median;
}

MatrixChart heat_map(const std::vector<SweepRow>& rows, const std::vector<SweepPoint>& points,
                     const std::vector<std::string>& point_names, Better better) {
  MatrixChart out{.columns = point_names, .worst = 1, .best = 1};
  for (const SweepRow& row : rows) out.rows.push_back(row.name);
  for (size_t p = 0; p < points.size(); ++p) {
    for (const SweepFigure& figure : points[p].ranked) {
      const double value = share(points[p], figure, better);
      out.worst = std::min(out.worst, value);
      out.cells.push_back({.row = figure.combination, .column = p, .value = value});
    }
  }
  out.low_label = fmt::format("{:.0f} % of the first", out.worst * 100);
  out.high_label = "the first at that point";
  return out;
}

std::string table(const std::vector<SweepRow>& rows, const std::vector<SweepPoint>& points,
                  const std::vector<std::string>& point_names, const MetricDef& metric) {
  std::string out = "<table><tr><th>" + markup_escape(metric.name) + "</th>";
  for (const std::string& name : point_names) out += "<th>" + markup_escape(name) + "</th>";
  out += "</tr>\n";
  for (size_t r = 0; r < rows.size(); ++r) {
    out += "<tr><td>" + markup_escape(rows[r].name) + "</td>";
    for (const SweepPoint& point : points) {
      const auto found = std::find_if(point.ranked.begin(), point.ranked.end(),
                                      [&](const SweepFigure& f) { return f.combination == r; });
      if (found == point.ranked.end()) {
        out += "<td></td>";
        continue;
      }
      const bool best = found == point.ranked.begin() && point.verdict == SweepVerdict::best;
      out += fmt::format("<td{}>{}</td>", best ? " class=\"best\"" : "",
                         markup_escape(format_value(found->median, metric.unit)));
    }
    if (!rows[r].reason.empty()) out += "<td>✗ " + markup_escape(rows[r].reason) + "</td>";
    out += "</tr>\n";
  }
  return out + "</table>\n";
}

}  // namespace

std::string sweep_page(const std::string& title, const std::vector<SweepRow>& rows,
                       const std::vector<SweepPoint>& points,
                       const std::vector<std::string>& point_names, const MetricDef& metric) {
  const std::string heading = markup_escape(title);
  const std::string chart = draw(heat_map(rows, points, point_names, metric.better), "sweep", title,
                                 "share of the first per combination (rows) and point (columns)");
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title>"
      "<style>{1}</style>\n<h1>{0}</h1>\n{2}\n{3}</html>\n",
      heading, kStyle, chart, table(rows, points, point_names, metric));
}

}  // namespace cb
