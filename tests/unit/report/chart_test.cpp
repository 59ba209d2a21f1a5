#include "report/chart.h"

#include <doctest/doctest.h>

#include <cmath>

#include "core/svg.h"
#include "report/axis.h"
#include "report/chart_parts.h"
#include "report/histogram_bins.h"

using namespace cb;

TEST_CASE("an axis is labelled in the unit in which its largest value is read") {
  CHECK(axis_unit(4.7e12, "flops_per_second").label == "GFLOP/s");
  CHECK(axis_unit(4.7e12, "flops_per_second").factor == doctest::Approx(1e9));
  CHECK(axis_unit(431e9, "bytes_per_second").factor == doctest::Approx(1e9));
  CHECK(axis_unit(412e-6, "seconds").label == "µs");
  CHECK(axis_unit(412e-6, "seconds").factor == doctest::Approx(1e-6));
  CHECK(axis_unit(600, "seconds").label == "min");
  CHECK(axis_unit(72 * 3600, "seconds").label == "h");
  CHECK(axis_unit(1.2, "share").factor == 0.01);
  CHECK(axis_unit(3 * 1073741824.0, "bytes").factor == doctest::Approx(1073741824.0));
}

TEST_CASE("ticks are round and enclose the range") {
  CHECK(round_ticks(0, 47, 5) == std::vector<double>{0, 10, 20, 30, 40, 50});
  CHECK(round_ticks(0, 1, 4) == std::vector<double>{0, 0.5, 1});
  CHECK(round_ticks(5, 5, 4) == std::vector<double>{5});
}

TEST_CASE("scales are linear or logarithmic and a single value is in the middle") {
  CHECK(Scale{0, 10, 100, 200}(5) == doctest::Approx(150));
  CHECK(Scale{1, 100, 0, 10, true}(10) == doctest::Approx(5));
  CHECK(Scale{3, 3, 0, 10}(3) == doctest::Approx(5));
}

TEST_CASE("every sample is in exactly one bin, from raw samples and from a histogram") {
  Samples raw;
  Histogram histogram;
  for (int i = 1; i <= 1000; ++i) {
    raw.add(i * 1e-6);
    histogram.add(i * 1e-6);
  }
  for (const Samples& samples : {raw, Samples::from_histogram(histogram)}) {
    const DistributionChart chart = bins_of(samples);
    double all = 0;
    for (const Bin& bin : chart.bins) all += bin.count;
    CHECK(all == 1000);
    CHECK(chart.log_x);
    CHECK(chart.bins.front().low == doctest::Approx(1e-6));
    CHECK(chart.bins.back().high == doctest::Approx(1e-3));
  }
  const DistributionChart one = bins_of(Samples{2.0, 2.0});
  double all = 0;
  for (const Bin& bin : one.bins) all += bin.count;
  CHECK(all == 2);
  CHECK_FALSE(one.log_x);
}

TEST_CASE("markup is escaped and control characters are replaced") {
  CHECK(markup_escape("<a href=\"x\">'&\x1b") == "&lt;a href=&quot;x&quot;&gt;&#39;&amp;?");
}

TEST_CASE("the time axis names its unit also where the last round number lies beyond the line") {
  const TimelineChart chart{.panels = {{"clock", "hertz", {{{{0, 3e9}, {605, 3e9}}, true}}}}};
  const std::string svg = draw(chart, "t", "t", "d");
  CHECK(svg.find(">10 min</text>") != std::string::npos);
  CHECK(svg.find(">12") == std::string::npos);
}

TEST_CASE("labels of events do not lie over one another, and every event has its line") {
  TimelineChart chart{.panels = {{"clock", "hertz", {{{{0, 3e9}, {10, 3e9}}, true}}}}};
  chart.events = {{3, "node01: throttled +1"}, {3.5, "node02: throttled +1"}, {9.9, "node03: +1"}};
  const std::string svg = draw(chart, "t", "t", "d");
  CHECK(svg.find("node01: throttled") != std::string::npos);
  CHECK(svg.find("node02: throttled") == std::string::npos);
  CHECK(svg.find("node03: +1") != std::string::npos);
  size_t lines = 0;
  for (size_t at = 0; (at = svg.find("class=\"event\"", at)) != std::string::npos; ++at) ++lines;
  CHECK(lines == 3);
}

TEST_CASE("labels are shortened by whole characters") {
  CHECK(fit_label("node01", 100) == "node01");
  CHECK(fit_label("a-very-long-host-name", 63) == "a-very-lo…");
  CHECK(fit_label("验收验收验收验收", 63) == "验收验收…");
}

TEST_CASE("the worst cell of a strip carries a mark, and one that fails another") {
  StripChart chart{.unit = "bytes_per_second"};
  for (int i = 0; i < 10; ++i)
    chart.cells.push_back({"node" + std::to_string(i), 100.0 + i, State::pass, i == 0});
  std::string svg = draw(chart, "s", "t", "d");
  CHECK(svg.find("▼") != std::string::npos);
  CHECK(svg.find("✗") == std::string::npos);
  chart.cells[0].state = State::fail;
  svg = draw(chart, "s", "t", "d");
  CHECK(svg.find("✗") != std::string::npos);
  CHECK(svg.find("▼") == std::string::npos);
}

TEST_CASE("a curve shows ceiling, requirement and interval only where there are some") {
  CurveChart chart{.unit = "bytes_per_second",
                   .worst = {{1024, 1e9}, {4096, 2e9}, {16384, 3e9}},
                   .worst_label = "node01"};
  std::string svg = draw(chart, "c", "t", "d");
  CHECK(svg.find("class=\"ceil\"") == std::string::npos);
  CHECK(svg.find("class=\"req\"") == std::string::npos);
  CHECK(svg.find("class=\"band\"") == std::string::npos);
  chart.ceiling = {{1024, 4e9}, {16384, 4e9}};
  chart.limits = {{16384, 16384, 2.5e9, "required"}};
  chart.interval = {{1024, 0.9e9, 1.1e9}, {4096, 1.9e9, 2.1e9}};
  svg = draw(chart, "c", "t", "d");
  CHECK(svg.find("class=\"ceil\"") != std::string::npos);
  CHECK(svg.find("class=\"req\"") != std::string::npos);
  CHECK(svg.find("class=\"band\"") != std::string::npos);
}

TEST_CASE("the columns of a stack stand on one another, and what is below has its own scale") {
  const StackChart chart{.unit = "seconds",
                         .parts = {{"a", Shade::dark}, {"b", Shade::red}},
                         .columns = {{1, {1, 2}}, {2, {2, 0}}},
                         .x_label = "step",
                         .below = {{2, 30}},
                         .below_label = "stall"};
  const std::string svg = draw(chart, "s", "t", "d");
  // The plot is 468 wide and 150 high: a column of 234 a step, 50 a second from 194 up.
  CHECK(svg.find("<path class=\"dot\" d=\"M58.5 144.0h233.0v50.0h-233.0zM292.5 94.0h233.0v100.0h-"
                 "233.0z\"/>") != std::string::npos);
  CHECK(svg.find("<path class=\"b\" d=\"M58.5 44.0h233.0v100.0h-233.0z\"/>") != std::string::npos);
  // Below, from 224 to 276: 30 s of the axis' 40.
  CHECK(
      svg.find("<rect x=\"292.5\" y=\"237.0\" width=\"233.0\" height=\"39.0\" class=\"dark\"/>") !=
      std::string::npos);
  CHECK(svg.find(">1</text>") != std::string::npos);
  CHECK(svg.find(">2 step</text>") != std::string::npos);
  CHECK(svg.find(">1.5") == std::string::npos);  // no half steps
  CHECK(svg.starts_with("<svg viewBox=\"0 0 540 300\""));
}

TEST_CASE("the parts of a line follow each other, and the wide ones carry their number") {
  const StackRowsChart chart{.unit = "seconds",
                             .parts = {{"a", Shade::dark}, {"b", Shade::white}},
                             .rows = {{"<h>:0", {4, 6}, "4 s"}, {"h:1", {9.9, 0.1}, "9.9 s"}}};
  const std::string svg = draw(chart, "s", "t", "d");
  CHECK(
      svg.find("<rect x=\"150.0\" y=\"31.0\" width=\"127.2\" height=\"16.0\" class=\"dot\"/><text "
               "x=\"213.6\" y=\"43.0\" class=\"cell\" text-anchor=\"middle\">1</text><rect "
               "x=\"277.2\" y=\"31.0\" width=\"190.8\" height=\"16.0\" class=\"less\"/>") !=
      std::string::npos);
  CHECK(svg.find("<rect x=\"464.8\" y=\"53.0\" width=\"3.2\" height=\"16.0\" class=\"less\"/><text "
                 "x=\"476.0\"") != std::string::npos);
  CHECK(svg.find("&lt;h&gt;:0") != std::string::npos);
}

TEST_CASE("a legend that does not fit continues in the next row, and shades are told apart") {
  StackRowsChart chart{.unit = "seconds", .rows = {{"h", {}, ""}}};
  const double empty = stack_rows_height(chart);
  std::vector<Shade> shades{Shade::dark, Shade::middle, Shade::light,
                            Shade::red,  Shade::yellow, Shade::white};
  for (const Shade shade : shades) {
    chart.parts.push_back({"twenty characters ...", shade});
    chart.rows[0].values.push_back(1);
  }
  CHECK(stack_rows_height(chart) == doctest::Approx(empty + 3 + 2 * 19));  // three in a row
  const std::string svg = draw(chart, "s", "t", "d");
  for (const char* css : {"dot", "q3", "q0", "b", "w", "less"})
    CHECK(svg.find("class=\"" + std::string(css) + "\"") != std::string::npos);
}
