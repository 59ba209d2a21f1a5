// Charts as data: numbers in SI units, the unit's name, and labels in the reader's language.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/svg.h"
#include "judge/verdict.h"
#include "model/fabric/picture.h"

namespace cb {

// A requirement: a horizontal line across part of a chart.
struct LimitLine {
  double from = 0;
  double to = 0;
  double value = 0;
  std::string label;
};

// A metric over a parameter that grows by factors; x is logarithmic, y is linear from 0.
struct CurveChart {
  std::string unit;
  bool x_is_bytes = true;
  std::vector<Point> worst;
  std::string worst_label;
  std::vector<std::array<double, 3>> interval;  // x, low, high of the worst line's median
  std::vector<Point> typical;  // median of all entities; empty if there is only one
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

// A histogram: how often each value was seen.
struct DistributionChart {
  std::string unit;
  bool log_x = false;
  std::vector<Bin> bins;
  std::vector<ValueMark> marks;  // quantiles, the limit, the worst value
  std::string count_label;
};

struct TimeLine {
  std::vector<Point> points;  // seconds, value
  bool emphasised = false;
};

// One panel of a time line chart, with a scale of its own.
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
  std::vector<TimePanel> panels;       // one above the other, with the same time axis
  std::vector<TimeEvent> events = {};  // in order of time
  std::string x_label = {};            // where the axis counts something else than seconds
};

struct WaterfallStep {
  std::string label;
  double from = 0;
  double to = 0;
  bool total = false;  // a total, not a difference
  std::string value_text;
};

// How one total becomes another: each difference begins where the one above it ends.
struct WaterfallChart {
  std::string unit;
  std::vector<WaterfallStep> steps;
};

// Shades of the parts of a stack. Neighbours in a stack differ also in a print without colours.
enum class Shade { dark, middle, light, red, yellow, white };

struct StackPart {
  std::string label;
  Shade shade = Shade::dark;
};

struct StackColumn {
  double at = 0;
  std::vector<double> values = {};  // one a part, none negative
};

// Columns over a count; the first part is at the bottom.
struct StackChart {
  std::string unit;
  std::vector<StackPart> parts;
  std::vector<StackColumn> columns;  // ascending; at least one
  double width = 1;                  // of a column, in counts
  std::string x_label;
  std::vector<Point> below = {};  // other values of some counts, with a scale of their own
  std::string below_label = {};
};

struct StackRow {
  std::string label;
  std::vector<double> values = {};  // one a part, none negative
  std::string value_text;
};

// A line per entity; the first part is at the left. Parts that are wide enough carry their number.
struct StackRowsChart {
  std::string unit;
  std::vector<StackPart> parts;
  std::vector<StackRow> rows;
};

struct StripCell {
  std::string name;
  double value = 0;
  State state = State::pass;  // only fail and warn get a mark
  bool worst = false;
};

// A strip of cells, one per entity.
struct StripChart {
  std::string unit;
  bool higher_is_better = true;
  std::vector<StripCell> cells;
  std::string low_label;  // for the low end of the legend
  std::string high_label;
};

struct Bar {
  std::string label;
  double value = 0;
  std::string value_text;
  std::optional<double> required;
  std::optional<double> ceiling;
  State state = State::pass;
  bool cut = false;  // the value lies beyond the end of the bar; a mark shows this
};

// Horizontal bars. A tick marks the requirement, a dashed tick the ceiling.
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
  std::string name;  // name and value; only for bad cells
};

// One cell per pair of sender and receiver. Cells that were not measured stay white.
struct MatrixChart {
  std::vector<std::string> rows;
  std::vector<std::string> columns;
  std::vector<MatrixCell> cells;
  double worst = 0;  // ends of the shades; `best` may be the smaller number
  double best = 0;
  std::string low_label;
  std::string high_label;
};

using Chart = std::variant<CurveChart, DistributionChart, TimelineChart, StripChart, BarsChart,
                           MatrixChart, WaterfallChart, StackChart, StackRowsChart, FabricPicture>;

// The chart as an <svg> element. All text in it is escaped. `id` must be unique in the page.
std::string draw(const Chart& chart, const std::string& id, const std::string& title,
                 const std::string& description);

// The mark beside the word (✓ ✗ ? ! ~ –), so that colour never stands alone.
const char* state_mark(State state);

}  // namespace cb
