#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cb {

// A number in a unit that metrics have. The code that shows a sentence formats it.
struct Quantity {
  double value = 0;
  std::string unit;  // bytes_per_second, seconds, …; empty: no unit was given
};

// Parses "100 GB/s", "1.5 µs", "95 %", "12k IOPS", "64 GiB" or "3". k, M, G, T are decimal. Bytes
// that are not a rate take only binary prefixes, because a GB of them is 10^9 to some and 2^30 to
// others. Nothing if the text is malformed or the unit is not known.
std::optional<Quantity> parse_quantity(std::string_view text);

}  // namespace cb
