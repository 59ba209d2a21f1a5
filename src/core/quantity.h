#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cb {

// A number with its unit, in the unit that metrics have; in a sentence whoever shows it formats it.
struct Quantity {
  double value = 0;
  std::string unit;  // bytes_per_second, seconds, …; empty: none was given
};

// "100 GB/s", "1.5 µs", "95 %", "12k IOPS", "64 GiB" or "3". k, M, G, T are decimal; bytes that are
// no rate take the binary prefixes only, for a GB of them is 10^9 to some and 2^30 to others.
// Nothing if it is malformed, or the unit is not known.
std::optional<Quantity> parse_quantity(std::string_view text);

}  // namespace cb
