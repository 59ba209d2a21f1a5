#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cb {

// Parses "4096", "4K", "1.5M", "2G", "1T" (binary multiples, optional trailing B or iB) into bytes;
// nothing if malformed, negative, not whole or beyond 2^63-1.
std::optional<int64_t> parse_size(std::string_view text);

// Parses "250ms", "5", "5s", "10m", "72h" into seconds; nothing if malformed or negative.
std::optional<double> parse_duration(std::string_view text);

std::optional<int64_t> parse_integer(std::string_view text);
std::optional<double> parse_number(std::string_view text);  // finite only

// Formats 4096 as "4K", 1536 as "1.5K", 1000 as "1000": exact, so that parse_size() reads it back.
std::string format_size(int64_t bytes);

// Formats seconds for people: "412 µs", "3.21 s", "4 m 10 s", "72 h".
std::string format_seconds(double seconds);

// Formats a metric's value with its unit for people. Known units (the names used in metrics):
// bytes_per_second GB/s, bits_per_second Gb/s, flops_per_second GFLOP/s or TFLOP/s,
// flops_per_joule GFLOP/J, operations_per_second GOP/s, io_per_second IOPS, seconds, bytes, share
// %, celsius, hertz, watts, count. An unknown unit is printed behind the number.
std::string format_value(double value, std::string_view unit);

// The parts of format_value(), so that a table can align them: {"93.1", "GFLOP/s"}.
struct ValueText {
  std::string number;
  std::string unit;
};
ValueText format_value_parts(double value, std::string_view unit);

}  // namespace cb
