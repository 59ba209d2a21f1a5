#include "core/units.h"

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

namespace cb {
namespace {

constexpr double kLargestInt64 = 9223372036854775807.0;

template <typename T>
std::optional<T> parse_whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Splits "1.5M" into 1.5 and "M".
std::optional<std::pair<double, std::string_view>> split_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0) return std::nullopt;
  return std::pair{value, text.substr(static_cast<size_t>(end - text.data()))};
}

std::optional<int> binary_exponent(std::string_view suffix) {
  if (suffix.ends_with("iB")) {
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

// At least three significant digits: 5.678 -> "5.68", 93.12 -> "93.1", 512.4 -> "512", 1234.5 ->
// "1,234".
std::string three_digits(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude < 0.001) return fmt::format("{:.3g}", value);
  if (magnitude < 9.995)
    return fmt::format("{:.{}f}", value, magnitude < 0.09995 ? 4 : magnitude < 0.9995 ? 3 : 2);
  if (magnitude < 99.95) return fmt::format("{:.1f}", value);
  return fmt::format("{:.0f}", value);
}

struct Scale {
  double factor;
  std::string_view unit;
};

ValueText scaled(double value, std::initializer_list<Scale> scales) {
  const Scale* chosen = scales.begin();
  for (const Scale& s : scales) {
    if (std::abs(value) >= s.factor * 0.9995) chosen = &s;
  }
  return {three_digits(value / chosen->factor), std::string(chosen->unit)};
}

ValueText seconds_parts(double s) {
  if (std::abs(s) < 120) {
    return scaled(s, {{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}});
  }
  const auto total = static_cast<int64_t>(std::llround(s));
  if (total < 3600) return {fmt::format("{} m {} s", total / 60, total % 60), ""};
  return {fmt::format("{} h {} m", total / 3600, total % 3600 / 60), ""};
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
  if (bytes >= kLargestInt64 || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

std::optional<double> parse_duration(std::string_view text) {
  const auto parts = split_number(text);
  if (!parts) return std::nullopt;
  const auto& [value, suffix] = *parts;
  if (suffix.empty() || suffix == "s") return value;
  if (suffix == "us") return value * 1e-6;
  if (suffix == "ms") return value * 1e-3;
  if (suffix == "m") return value * 60;
  if (suffix == "h") return value * 3600;
  if (suffix == "d") return value * 86400;
  return std::nullopt;
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
  // Only exact multiples of 1/4 are shortened, so that the text reads back as the same number.
  while (step + 1 < suffixes.size() && value >= 1024 && std::fmod(value / 1024 * 4, 1.0) == 0) {
    value /= 1024;
    ++step;
  }
  if (step == 0) return fmt::format("{}", bytes);
  return fmt::format("{}{}", value, suffixes[step]);
}

std::string format_seconds(double seconds) {
  const ValueText parts = seconds_parts(seconds);
  return parts.unit.empty() ? parts.number : parts.number + " " + parts.unit;
}

ValueText format_value_parts(double value, std::string_view unit) {
  if (!std::isfinite(value)) return {"not finite", ""};
  if (unit == "bytes_per_second")
    return scaled(value, {{1e3, "kB/s"}, {1e6, "MB/s"}, {1e9, "GB/s"}, {1e13, "TB/s"}});
  if (unit == "bits_per_second") return scaled(value, {{1e6, "Mb/s"}, {1e9, "Gb/s"}});
  if (unit == "flops_per_second")
    return scaled(value, {{1e6, "MFLOP/s"}, {1e9, "GFLOP/s"}, {1e13, "TFLOP/s"}});
  if (unit == "operations_per_second")
    return scaled(value, {{1e6, "MOP/s"}, {1e9, "GOP/s"}, {1e13, "TOP/s"}});
  if (unit == "io_per_second")
    return scaled(value, {{1, "IOPS"}, {1e4, "k IOPS"}, {1e7, "M IOPS"}});
  if (unit == "bytes")
    return scaled(value, {{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}});
  if (unit == "seconds") return seconds_parts(value);
  if (unit == "hertz") return scaled(value, {{1, "Hz"}, {1e6, "MHz"}, {1e9, "GHz"}});
  if (unit == "share") return {fmt::format("{:.1f}", value * 100), "%"};
  if (unit == "celsius") return {three_digits(value), "°C"};
  if (unit == "watts") return {three_digits(value), "W"};
  if (unit == "count") return {fmt::format("{}", value), ""};
  return {three_digits(value), std::string(unit)};
}

std::string format_value(double value, std::string_view unit) {
  const ValueText parts = format_value_parts(value, unit);
  return parts.unit.empty() ? parts.number : parts.number + " " + parts.unit;
}

}  // namespace cb
