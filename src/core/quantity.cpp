#include "core/quantity.h"

#include <array>
#include <charconv>
#include <cmath>

namespace cb {
namespace {

struct Prefixed {
  std::string_view sign;
  double factor;
};

constexpr std::array kDecimal{Prefixed{"", 1},    Prefixed{"k", 1e3}, Prefixed{"K", 1e3},
                              Prefixed{"M", 1e6}, Prefixed{"G", 1e9}, Prefixed{"T", 1e12},
                              Prefixed{"P", 1e15}};
constexpr std::array kBinary{Prefixed{"", 1}, Prefixed{"Ki", 1024}, Prefixed{"Mi", 1048576},
                             Prefixed{"Gi", 1073741824}, Prefixed{"Ti", 1099511627776}};
constexpr std::array kTime{Prefixed{"", 1}, Prefixed{"m", 1e-3}, Prefixed{"u", 1e-6},
                           Prefixed{"µ", 1e-6}, Prefixed{"n", 1e-9}};
constexpr std::array kPlain{Prefixed{"", 1}};

enum class Prefixes { plain, decimal, binary, both, time };

struct Known {
  std::string_view sign;
  std::string_view unit;
  Prefixes prefixes;
};

// Longer signs come first: "B/s" ends with "/s", and no other sign ends with "IOPS".
constexpr std::array kKnown{
    Known{"FLOP/s", "flops_per_second", Prefixes::decimal},
    Known{"FLOPS", "flops_per_second", Prefixes::decimal},
    Known{"FLOP/J", "flops_per_joule", Prefixes::decimal},
    Known{"OP/s", "operations_per_second", Prefixes::decimal},
    Known{"msg/s", "messages_per_second", Prefixes::decimal},
    Known{"IOPS", "io_per_second", Prefixes::decimal},
    Known{"bit/s", "bits_per_second", Prefixes::decimal},
    Known{"b/s", "bits_per_second", Prefixes::decimal},
    Known{"B/s", "bytes_per_second", Prefixes::both},
    Known{"Hz", "hertz", Prefixes::decimal},
    Known{"°C", "celsius", Prefixes::plain},
    Known{"min", "minutes", Prefixes::plain},
    Known{"/s", "count per second", Prefixes::plain},
    Known{"B", "bytes", Prefixes::binary},
    Known{"W", "watts", Prefixes::decimal},
    Known{"%", "share", Prefixes::plain},
    Known{"s", "seconds", Prefixes::time},
    Known{"h", "hours", Prefixes::plain},
};

template <typename Scales>
std::optional<double> factor_in(const Scales& scales, std::string_view prefix) {
  for (const Prefixed& scale : scales) {
    if (scale.sign == prefix) return scale.factor;
  }
  return std::nullopt;
}

std::optional<double> factor_of(Prefixes prefixes, std::string_view prefix) {
  const bool decimal = prefixes == Prefixes::decimal || prefixes == Prefixes::both;
  const bool binary = prefixes == Prefixes::binary || prefixes == Prefixes::both;
  std::optional<double> out = factor_in(kPlain, prefix);
  if (!out && decimal) out = factor_in(kDecimal, prefix);
  if (!out && binary) out = factor_in(kBinary, prefix);
  if (!out && prefixes == Prefixes::time) out = factor_in(kTime, prefix);
  return out;
}

Quantity in_metric_units(double value, std::string_view unit) {
  if (unit == "share") return {value / 100, "share"};
  if (unit == "minutes") return {value * 60, "seconds"};
  if (unit == "hours") return {value * 3600, "seconds"};
  return {value, std::string(unit)};
}

std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ') out += c;
  }
  return out;
}

}  // namespace

std::optional<Quantity> parse_quantity(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return std::nullopt;
  const std::string sign = without_blanks(text.substr(static_cast<size_t>(end - text.data())));
  if (sign.empty()) return Quantity{value, ""};
  for (const Known& known : kKnown) {
    if (!sign.ends_with(known.sign)) continue;
    const std::string_view prefix(sign.data(), sign.size() - known.sign.size());
    if (const auto factor = factor_of(known.prefixes, prefix))
      return in_metric_units(value * *factor, known.unit);
  }
  return std::nullopt;
}

}  // namespace cb
