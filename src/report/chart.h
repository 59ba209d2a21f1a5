// Charts as data: SI numbers, the unit's name and labels in the reader's language.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "judge/verdict.h"

namespace cb {

using Point = std::array<double, 2>;

// A horizontal line across part of a chart: a requirement.
struct LimitLine {
  double from = 0;
  double to = 0;
  double value = 0;
  std::string label;
};

// A metric over a parameter that grows by factors: log x, linear y from 0.
struct CurveChart {
  std::string unit;
  bool x_is_bytes = true;
  std::vector<Point> worst;
  std::string worst_label;
  std::vector<std::array<double, 3>> interval;  // x, low, high: of the worst line's median
  std::vector<Point> typical;                   // median of all entities, where there are several
  std::string typical_label;
  std::vector<Point> ceiling;
  std::string ceiling_label;
  std::vector<LimitLine> limits;
};

struct Bin {
  double low = 0;
  double high = 0;
  double count = 0;
};

struct ValueMark {
  double value = 0;
  std::string label;
  bool bad = false;
};

// How often which value was seen.
struct DistributionChart {
  std::string unit;
  bool log_x = false;
  std::vector<Bin> bins;
  std::vector<ValueMark> marks;  // quantiles, the limit, the worst
  std::string count_label;
};

struct TimeLine {
  std::vector<Point> points;  // seconds, value
  bool emphasised = false;
};

// One scale of a time line chart.
struct TimePanel {
  std::string label;
  std::string unit;
  std::vector<TimeLine> lines;
};

struct TimeEvent {
  double at = 0;
  std::string label;
};

struct TimelineChart {
  std::vector<TimePanel> panels;  // one above the other, same time axis
  std::vector<TimeEvent> events;
};

struct StripCell {
  std::string name;
  double value = 0;
  State state = State::pass;  // only fail and warn are marked
  bool worst = false;
};

// One cell per entity.
struct StripChart {
  std::string unit;
  bool higher_is_better = true;
  std::vector<StripCell> cells;
  std::string low_label;  // of the legend
  std::string high_label;
};

struct Bar {
  std::string label;
  double value = 0;
  std::string value_text;
  std::optional<double> required;
  std::optional<double> ceiling;
  State state = State::pass;
  bool cut = false;  // the value lies beyond the end of the bar, which is marked
};

// Horizontal bars with the requirement as a tick and the ceiling as a dashed one.
struct BarsChart {
  std::string unit;
  std::vector<Bar> bars;
  std::string required_label;
  std::string ceiling_label;
};

struct MatrixCell {
  size_t row = 0;
  size_t column = 0;
  double value = 0;
  bool bad = false;
  std::string name;  // with the value; of bad cells
};

// Who with whom: one cell per pair; cells that were not measured are left white.
struct MatrixChart {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<MatrixCell> cells;
  double worst = 0;  // ends of the shades; best may be the smaller number
  double best = 0;
  std::string low_label;
  std::string high_label;
};

using Chart =
    std::variant<CurveChart, DistributionChart, TimelineChart, StripChart, BarsChart, MatrixChart>;

// The chart as an <svg> element; all text in it is escaped. `id` must be unique in the page.
std::string draw(const Chart& chart, const std::string& id, const std::string& title,
                 const std::string& description);

// ✓ ✗ ? ! ~ –: the mark that stands beside the word, so that colour is never alone.
const char* state_mark(State state);

}  // namespace cb
