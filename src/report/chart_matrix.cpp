// Draws an N×N heat map: rows send, columns receive. If there are more than 64 rows, neighbours
// share a cell, which shows the worst of them.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/chart_parts.h"

namespace cb {
namespace {

constexpr double kRowLabels = 84;
constexpr double kMatrixTop = 18;
constexpr double kLegend = 30;
constexpr double kMaxCell = 22;

double cell_size(const MatrixChart& chart) {
  const auto n = static_cast<double>(std::max(chart.rows.size(), chart.columns.size()));
  return std::min(kMaxCell, (kChartWidth - kRowLabels - 4) / std::max(n, 1.0));
}

// One of five shades, from the worst to the best of all cells.
int shade(const MatrixChart& chart, double value) {
  const double span = chart.best - chart.worst;
  if (span == 0) return 4;
  return std::clamp(static_cast<int>(std::floor((value - chart.worst) / span * 5)), 0, 4);
}

}  // namespace

double matrix_height(const MatrixChart& chart) {
  return kMatrixTop + cell_size(chart) * static_cast<double>(chart.rows.size()) + kLegend;
}

std::string draw_matrix(const MatrixChart& chart, Svg svg) {
  const double size = cell_size(chart);
  const size_t every = std::max<size_t>(1, static_cast<size_t>(std::ceil(12 / size)));
  for (size_t r = 0; r < chart.rows.size(); r += every)
    svg.text({kRowLabels - 4, kMatrixTop + size * (static_cast<double>(r) + 0.5) + 4},
             fit_label(chart.rows[r], kRowLabels - 6), "lbl", "end");
  if (!chart.columns.empty()) {
    svg.text({kRowLabels, kMatrixTop - 6}, chart.columns.front(), "tick");
    svg.text({kRowLabels + size * static_cast<double>(chart.columns.size()), kMatrixTop - 6},
             chart.columns.back(), "tick", "end");
  }
  // One shape per shade: an element for each cell would cost 100 bytes.
  std::array<std::vector<Point>, 5> corners;
  for (const MatrixCell& cell : chart.cells) {
    const Point at{kRowLabels + size * static_cast<double>(cell.column),
                   kMatrixTop + size * static_cast<double>(cell.row)};
    if (cell.bad)
      svg.rect(at, {size, size}, "b", cell.name);
    else
      corners[static_cast<size_t>(shade(chart, cell.value))].push_back(at);
  }
  for (size_t s = 0; s < corners.size(); ++s)
    svg.squares(corners[s], size * 0.94, fmt::format("q{}", s));
  for (const MatrixCell& cell : chart.cells) {
    if (!cell.bad || size < 9) continue;
    svg.text({kRowLabels + size * (static_cast<double>(cell.column) + 0.5),
              kMatrixTop + size * (static_cast<double>(cell.row) + 0.5) + 4},
             "✗", "cell", "middle");
  }
  const double y = kMatrixTop + size * static_cast<double>(chart.rows.size()) + 20;
  svg.text({kRowLabels, y}, chart.low_label, "tick");
  svg.text({kChartWidth - 2, y}, chart.high_label, "tick", "end");
  return svg.str();
}

}  // namespace cb
