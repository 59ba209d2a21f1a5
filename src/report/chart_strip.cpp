// Draws one cell per entity; darker is better. The worst cell and failing cells carry a mark, not
// only a colour.
#include <algorithm>
#include <array>

#include "core/units.h"
#include "report/chart_parts.h"

namespace cb {
namespace {

constexpr std::array<const char*, 5> kShades{"q0", "q1", "q2", "q3", "q4"};

// With more cells, only those that stand out carry a name: 100 bytes per cell would fill the page.
constexpr size_t kMaxNamed = 512;

struct Layout {
  size_t columns = 1;
  size_t rows = 1;
  double cell = 16;
};

Layout layout_of(const StripChart& chart) {
  const size_t n = chart.cells.size();
  Layout out;
  out.columns = std::min<size_t>(n, n <= 32 ? 16 : n <= 512 ? 32 : 64);
  out.rows = (n + out.columns - 1) / out.columns;
  out.cell = std::min(26.0, (kChartWidth - 8) / static_cast<double>(out.columns));
  return out;
}

size_t shade_of(const StripChart& chart, double low, double high, double value) {
  if (high <= low) return 2;
  double share = (value - low) / (high - low);
  if (!chart.higher_is_better) share = 1 - share;
  return std::min<size_t>(static_cast<size_t>(share * 5), 4);
}

// A fail is ✗ on red, a warning ! on yellow, the worst of a healthy set ▼ on its own shade.
void draw_cell(Svg& svg, const StripCell& cell, Point at, double size, std::string_view shade,
               const std::string& unit) {
  const bool fails = cell.state == State::fail;
  const bool warns = cell.state == State::warn;
  svg.rect(at, {size - 1.5, size - 1.5},
           fails   ? "b"
           : warns ? "w"
                   : shade,
           cell.name + ": " + format_value(cell.value, unit));
  if (!fails && !warns && !cell.worst) return;
  svg.text({at[0] + (size - 1.5) / 2, at[1] + size / 2 + 3.2},
           fails   ? "✗"
           : warns ? "!"
                   : "▼",
           fails ? "cell" : "cell dark", "middle");
}

}  // namespace

double strip_height(const StripChart& chart) {
  const Layout layout = layout_of(chart);
  return static_cast<double>(layout.rows) * layout.cell + 34;
}

std::string draw_strip(const StripChart& chart, Svg svg) {
  const Layout layout = layout_of(chart);
  const auto [low, high] = std::ranges::minmax(chart.cells, {}, &StripCell::value);
  const bool many = chart.cells.size() > kMaxNamed;
  std::array<std::vector<Point>, kShades.size()> plain;
  for (size_t i = 0; i < chart.cells.size(); ++i) {
    const StripCell& cell = chart.cells[i];
    const size_t column = i % layout.columns, row = i / layout.columns;
    const Point at{4 + static_cast<double>(column) * layout.cell,
                   4 + static_cast<double>(row) * layout.cell};
    const size_t shade = shade_of(chart, low.value, high.value, cell.value);
    if (many && cell.state == State::pass && !cell.worst)
      plain[shade].push_back(at);
    else
      draw_cell(svg, cell, at, layout.cell, kShades[shade], chart.unit);
  }
  for (size_t s = 0; s < plain.size(); ++s) svg.squares(plain[s], layout.cell - 1.5, kShades[s]);
  const double y = strip_height(chart) - 18;
  const std::string left = fit_label(chart.low_label, 200);
  svg.text({4, y + 11}, left, "tick");
  double x = 4 + label_width(left) + 8;
  for (const char* shade : kShades) {
    svg.rect({x, y}, {13, 13}, shade);
    x += 15;
  }
  svg.text({x + 6, y + 11}, fit_label(chart.high_label, 240), "tick");
  return svg.str();
}

}  // namespace cb
