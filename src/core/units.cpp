#include "core/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace cb {
namespace {

constexpr double kMaxInt64 = 9223372036854775807.0;

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Splits "1.5M" into 1.5 and "M". Refuses a minus sign, also that of -0.
std::optional<std::pair<double, std::string_view>> split_number(std::string_view text) {
  double value = 0;
  if (text.starts_with('-')) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  return std::pair{value, text.substr(static_cast<size_t>(end - text.data()))};
}

std::optional<int> binary_exponent(std::string_view suffix) {
  if (suffix.size() == 3 && suffix.ends_with("iB")) {
    suffix.remove_suffix(2);
  } else if (suffix.ends_with('B')) {
    suffix.remove_suffix(1);
  }
  if (suffix.empty()) return 0;
  if (suffix.size() != 1) return std::nullopt;
  switch (suffix[0]) {
    case 'k':
    case 'K':
      return 10;
    case 'm':
    case 'M':
      return 20;
    case 'g':
    case 'G':
      return 30;
    case 't':
    case 'T':
      return 40;
    case 'p':
    case 'P':
      return 50;
    default:
      return std::nullopt;
  }
}

// Formats at least three significant digits: 5.678 -> "5.68", 93.12 -> "93.1", 512.4 -> "512",
// 1234.4 -> "1234".
std::string three_digits(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude < 0.001) return fmt::format("{:.3g}", value);
  if (magnitude < 0.009995) return fmt::format("{:.5f}", value);
  if (magnitude < 0.09995) return fmt::format("{:.4f}", value);
  if (magnitude < 0.9995) return fmt::format("{:.3f}", value);
  if (magnitude < 9.995) return fmt::format("{:.2f}", value);
  if (magnitude < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

// `from` is the value at which people change to the unit, if that is not 1 of it: 9,999 GB/s, then
// 10.0 TB/s.
struct Scale {
  double factor;
  std::string_view unit;
  double from = factor;
};

ValueText scaled(double value, std::initializer_list<Scale> scales) {
  const Scale* chosen = scales.begin();
  for (const Scale& s : scales) {
    if (std::abs(value) >= s.from * 0.9995) chosen = &s;
  }
  return {three_digits(value / chosen->factor), std::string(chosen->unit)};
}

// Ten thousand years. Anything longer is not a duration but a mistake, and is shown in seconds.
constexpr double kMaxAsHours = 3e11;

// Returns "4 m 10 s", or "72 h" if there are no minutes.
std::string two_parts(int64_t large, const char* large_unit, int64_t small,
                      const char* small_unit) {
  if (small == 0) return fmt::format("{} {}", large, large_unit);
  return fmt::format("{} {} {} {}", large, large_unit, small, small_unit);
}

ValueText seconds_parts(double s) {
  if (std::abs(s) < 120) {
    return scaled(s, {{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}});
  }
  if (std::abs(s) >= kMaxAsHours) return {fmt::format("{:.3g}", s), "s"};
  const auto total = static_cast<int64_t>(std::llround(std::abs(s)));
  const char* sign = s < 0 ? "-" : "";
  if (total < 3600) return {sign + two_parts(total / 60, "m", total % 60, "s"), ""};
  const int64_t minutes = (total + 30) / 60;
  return {sign + two_parts(minutes / 60, "h", minutes % 60, "m"), ""};
}

}  // namespace

std::optional<int64_t> parse_size(std::string_view text) {
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  const auto exponent = binary_exponent(parts->second);
  if (!exponent) return std::nullopt;
  if (*exponent == 0) {
    if (const auto whole = parse_whole<int64_t>(text.substr(0, text.size() - parts->second.size())))
      return whole;
  }
  const double bytes = std::ldexp(parts->first, *exponent);
  if (bytes >= kMaxInt64 || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::optional<double> parse_duration(std::string_view text) {
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  const auto& [value, suffix] = *parts;
  if (suffix == "us") return value / 1e6;
  if (suffix == "ms") return value / 1e3;
  double factor = 0;
  if (suffix.empty() || suffix == "s") factor = 1;
  if (suffix == "m") factor = 60;
  if (suffix == "h") factor = 3600;
  if (suffix == "d") factor = 86400;
  if (factor == 0 || !std::isfinite(value * factor)) return std::nullopt;
  return value * factor;
}

std::optional<int64_t> parse_integer(std::string_view text) { return parse_whole<int64_t>(text); }

std::optional<double> parse_number(std::string_view text) {
  const auto value = parse_whole<double>(text);
  return value && std::isfinite(*value) ? value : std::nullopt;
}

std::string format_size(int64_t bytes) {
  constexpr std::array<std::string_view, 6> suffixes{"", "K", "M", "G", "T", "P"};
  size_t step = 0;
  double value = static_cast<double>(bytes);
  if (value >= kMaxInt64 || static_cast<int64_t>(value) != bytes)
    return fmt::format("{}", bytes);  // no double has this exact value
  // Shortens only exact multiples of 1/4, so that the text reads back as the same number.
  while (step + 1 < suffixes.size() && value >= 1024 && std::fmod(value / 1024 * 4, 1.0) == 0) {
    value /= 1024;
    ++step;
  }
  if (step == 0) return fmt::format("{}", bytes);
  return fmt::format("{}{}", value, suffixes[step]);
}

std::string format_seconds(double seconds) {
  if (!std::isfinite(seconds)) return "not finite";
  const ValueText parts = seconds_parts(seconds);
  return parts.unit.empty() ? parts.number : parts.number + " " + parts.unit;
}

ValueText format_value_parts(double value, std::string_view unit) {
  if (!std::isfinite(value)) return {"not finite", ""};
  if (unit == "bytes_per_second")
    return scaled(value,
                  {{1, "B/s"}, {1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e12, "TB/s", 1e13}});
  if (unit == "bits_per_second") return scaled(value, {{1e6, "Mb/s"}, {1e9, "Gb/s"}});
  if (unit == "flops_per_second")
    return scaled(value, {{1e6, "MFLOP/s"}, {1e9, "GFLOP/s"}, {1e12, "TFLOP/s", 1e13}});
  if (unit == "flops_per_joule")
    return scaled(value, {{1e6, "MFLOP/J"}, {1e9, "GFLOP/J"}, {1e12, "TFLOP/J", 1e13}});
  if (unit == "operations_per_second")
    return scaled(value, {{1e6, "MOP/s"}, {1e9, "GOP/s"}, {1e12, "TOP/s", 1e13}});
  if (unit == "messages_per_second")
    return scaled(value, {{1, "msg/s"}, {1e3, "k msg/s", 1e4}, {1e6, "M msg/s", 1e7}});
  if (unit == "io_per_second")
    return scaled(value, {{1, "IOPS"}, {1e3, "k IOPS", 1e4}, {1e6, "M IOPS", 1e7}});
  if (unit == "bytes")
    return scaled(
        value,
        {{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}, {1099511627776, "TiB"}});
  if (unit == "seconds") return seconds_parts(value);
  if (unit == "hertz") return scaled(value, {{1, "Hz"}, {1e6, "MHz"}, {1e9, "GHz"}});
  if (unit == "share") return {fmt::format("{:.1f}", value * 100), "%"};
  if (unit == "celsius") return {three_digits(value), "°C"};
  if (unit == "watts") return {three_digits(value), "W"};
  if (unit == "joules") return {three_digits(value), "J"};
  if (unit == "count per second") return {three_digits(value), "/s"};
  if (unit == "ratio") return {three_digits(value), ""};
  if (unit == "count") return {fmt::format("{}", value), ""};
  return {three_digits(value), std::string(unit)};
}

std::string format_value(double value, std::string_view unit) {
  const ValueText parts = format_value_parts(value, unit);
  return parts.unit.empty() ? parts.number : parts.number + " " + parts.unit;
}

}  // namespace cb
