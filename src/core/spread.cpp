#include "core/spread.h"

#include <fmt/format.h>

#include "core/units.h"

namespace cb {

std::string spread_text(const Summary& summary, std::string_view unit, std::string_view sign) {
  if (!summary.ci95) return "";
  const auto half = relative_half_width(summary);
  if (half && *half <= 1) return fmt::format("{}{:.1f} %", sign, *half * 100);
  const auto [low, high] = *summary.ci95;
  if (low == high) return "";
  return fmt::format("{} … {}", format_value(low, unit), format_value(high, unit));
}

}  // namespace cb
