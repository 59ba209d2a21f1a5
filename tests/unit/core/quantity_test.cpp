#include "core/quantity.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

bool is_quantity(const char* text, double value, const std::string& unit) {
  const auto q = parse_quantity(text);
  return q && q->value == doctest::Approx(value).epsilon(1e-12) && q->unit == unit;
}

}  // namespace

TEST_CASE("a number with its unit is read in the unit of metrics") {
  CHECK(is_quantity("100 GB/s", 100e9, "bytes_per_second"));
  CHECK(is_quantity("100GB/s", 100e9, "bytes_per_second"));
  CHECK(is_quantity("1 GiB/s", 1073741824.0, "bytes_per_second"));
  CHECK(is_quantity("400 Gb/s", 400e9, "bits_per_second"));
  CHECK(is_quantity("60 TFLOP/s", 60e12, "flops_per_second"));
  CHECK(is_quantity("452 MFLOP/J", 452e6, "flops_per_joule"));
  CHECK(is_quantity("3.5 TOP/s", 3.5e12, "operations_per_second"));
  CHECK(is_quantity("12k IOPS", 12e3, "io_per_second"));
  CHECK(is_quantity("200 M msg/s", 200e6, "messages_per_second"));
  CHECK(is_quantity("1.5 µs", 1.5e-6, "seconds"));
  CHECK(is_quantity("1.5us", 1.5e-6, "seconds"));
  CHECK(is_quantity("20 ms", 20e-3, "seconds"));
  CHECK(is_quantity("2 min", 120, "seconds"));
  CHECK(is_quantity("95 %", 0.95, "share"));
  CHECK(is_quantity("64 GiB", 68719476736.0, "bytes"));
  CHECK(is_quantity("1.4 GHz", 1.4e9, "hertz"));
  CHECK(is_quantity("85 °C", 85, "celsius"));
  CHECK(is_quantity("700 W", 700, "watts"));
  CHECK(is_quantity("3", 3, ""));
}

TEST_CASE("what is no quantity, or could be two, is nothing") {
  for (const char* text : {"", "GB/s", "100 XB/s", "1e999 B/s", "100 GB", "100 mB/s", "12 kilo",
                           "100 GB/s each", "0x10 B/s", "1,5 GB/s", "Ms", "1 Mms"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_quantity(text));
  }
}

TEST_CASE("every prefix at the same number") {
  CHECK(is_quantity("2 B/s", 2, "bytes_per_second"));
  CHECK(is_quantity("2 kB/s", 2e3, "bytes_per_second"));
  CHECK(is_quantity("2 KB/s", 2e3, "bytes_per_second"));
  CHECK(is_quantity("2 MB/s", 2e6, "bytes_per_second"));
  CHECK(is_quantity("2 GB/s", 2e9, "bytes_per_second"));
  CHECK(is_quantity("2 TB/s", 2e12, "bytes_per_second"));
  CHECK(is_quantity("2 PB/s", 2e15, "bytes_per_second"));
  CHECK(is_quantity("2 KiB", 2048, "bytes"));
  CHECK(is_quantity("2 MiB", 2097152, "bytes"));
  CHECK(is_quantity("2 TiB", 2199023255552.0, "bytes"));
  CHECK(is_quantity("2 s", 2, "seconds"));
  CHECK(is_quantity("2 ns", 2e-9, "seconds"));
  CHECK(is_quantity("2 h", 7200, "seconds"));
  CHECK(is_quantity("2 /s", 2, "count per second"));
  CHECK(is_quantity("2 FLOPS", 2, "flops_per_second"));
  CHECK(is_quantity("2 Gbit/s", 2e9, "bits_per_second"));
  CHECK(is_quantity("-5 °C", -5, "celsius"));
}
