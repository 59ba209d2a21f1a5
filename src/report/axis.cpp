#include "report/axis.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {

AxisUnit axis_unit(double largest, std::string_view unit) {
  if (unit == "share") return {0.01, "%"};
  if (unit == "seconds" && largest >= 7200) return {3600, "h"};
  if (unit == "seconds" && largest >= 120) return {60, "min"};
  const ValueText parts = format_value_parts(largest, unit);
  const auto shown = parse_number(parts.number);
  if (!shown || *shown == 0) return {1, parts.unit};
  // Finds the factor that format_value() chose, from the text that it printed.
  for (const double base : {1000.0, 1024.0}) {
    for (int power = -4; power <= 6; ++power) {
      const double factor = std::pow(base, power);
      if (std::abs(largest / factor / *shown - 1) < 0.006) return {factor, parts.unit};
    }
  }
  return {largest / *shown, parts.unit};
}

std::vector<double> round_ticks(double low, double high, int wanted) {
  if (!(high > low)) return {low};
  const double rough = (high - low) / wanted;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power * 10;
  for (const double m : {1.0, 2.0, 5.0}) {
    if (power * m >= rough * 0.999) {
      step = power * m;
      break;
    }
  }
  std::vector<double> out;
  const auto first = static_cast<int64_t>(std::floor(low / step + 1e-9));
  const auto last = static_cast<int64_t>(std::ceil(high / step - 1e-9));
  for (int64_t i = first; i <= last; ++i) out.push_back(static_cast<double>(i) * step);
  return out;
}

std::vector<double> axis_ticks(double low, double high, int wanted, std::string_view unit) {
  const double factor = axis_unit(high, unit).factor;
  std::vector<double> out = round_ticks(low / factor, high / factor, wanted);
  for (double& tick : out) tick *= factor;
  return out;
}

std::string tick_text(double value) {
  return std::abs(value) < 1e-12 ? "0" : fmt::format("{:.6g}", value);
}

double Scale::operator()(double value) const {
  const auto place = [this](double v) { return log ? std::log(v) : v; };
  if (high == low) return (from + to) / 2;
  return from + (to - from) * (place(value) - place(low)) / (place(high) - place(low));
}

}  // namespace cb
