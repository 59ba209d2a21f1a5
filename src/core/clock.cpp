#include "core/clock.h"

#include <ctime>

#include <fmt/chrono.h>

#include "core/units.h"

namespace cb {

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

std::optional<int64_t> seconds_since_epoch(std::string_view utc) {
  constexpr std::string_view pattern = "dddd-dd-ddTdd:dd:ddZ";
  if (utc.size() != pattern.size()) return std::nullopt;
  for (size_t i = 0; i < utc.size(); ++i) {
    const bool digit = utc[i] >= '0' && utc[i] <= '9';
    if (pattern[i] == 'd' ? !digit : utc[i] != pattern[i]) return std::nullopt;
  }
  const auto part = [&](size_t at, size_t length) {
    return static_cast<int>(parse_integer(utc.substr(at, length)).value_or(0));
  };
  using namespace std::chrono;
  const year_month_day day(year(part(0, 4)), month(static_cast<unsigned>(part(5, 2))),
                           std::chrono::day(static_cast<unsigned>(part(8, 2))));
  if (!day.ok() || part(11, 2) > 23 || part(14, 2) > 59 || part(17, 2) > 60) return std::nullopt;
  return duration_cast<seconds>(sys_days(day).time_since_epoch()).count() + 3600 * part(11, 2) +
         60 * part(14, 2) + part(17, 2);
}

}  // namespace cb
