#include "core/units.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace cb;

TEST_CASE("sizes are read with every suffix") {
  CHECK(parse_size("0") == 0);
  CHECK(parse_size("4096") == 4096);
  CHECK(parse_size("4096B") == 4096);
  CHECK(parse_size("4K") == 4096);
  CHECK(parse_size("4k") == 4096);
  CHECK(parse_size("4KB") == 4096);
  CHECK(parse_size("4KiB") == 4096);
  CHECK(parse_size("1.5M") == 1572864);
  CHECK(parse_size("0.5K") == 512);
  CHECK(parse_size("2G") == 2147483648);
  CHECK(parse_size("1T") == 1099511627776);
  CHECK(parse_size("3P") == 3377699720527872);
  CHECK(parse_size("1e3") == 1000);
  CHECK(parse_size("9223372036854775807") == std::numeric_limits<int64_t>::max());
  CHECK(parse_size("9223372036854775807B") == std::numeric_limits<int64_t>::max());
}

TEST_CASE("what is no size is nothing") {
  for (const char* text : {"",
                           " 4K",
                           "4 K",
                           "4K ",
                           "K",
                           "-1",
                           "-0",
                           "+1",
                           "4iB",
                           "4X",
                           "4KK",
                           "4KiBs",
                           "0x10",
                           "1.5",
                           "0.3K",
                           "nan",
                           "inf",
                           "1e400",
                           "9223372036854775808",
                           "8192P",
                           "1e30",
                           "4Kib",
                           "4,5K"})
    CHECK_MESSAGE(!parse_size(text).has_value(), text);
}

TEST_CASE("durations are read with every suffix") {
  CHECK(parse_duration("5") == 5.0);
  CHECK(parse_duration("5s") == 5.0);
  CHECK(parse_duration("250ms") == 0.25);
  CHECK(parse_duration("3us") == 3e-6);
  CHECK(parse_duration("10m") == 600.0);
  CHECK(parse_duration("72h") == 259200.0);
  CHECK(parse_duration("2d") == 172800.0);
  CHECK(parse_duration("1.5h") == 5400.0);
  for (const char* text : {"", "s", "-1s", "-0", "5 s", "5min", "1h30m", "nan", "inf", "1e308d"})
    CHECK_MESSAGE(!parse_duration(text).has_value(), text);
}

TEST_CASE("integers and numbers are whole texts") {
  CHECK(parse_integer("-12") == -12);
  CHECK(parse_integer("9223372036854775807") == std::numeric_limits<int64_t>::max());
  for (const char* text : {"", "1.0", "1 ", "0x1", "9223372036854775808", "one", "+1"})
    CHECK_MESSAGE(!parse_integer(text).has_value(), text);
  CHECK(parse_number("-1.5e3") == -1500.0);
  for (const char* text : {"", "1,5", "nan", "inf", "-inf", "1e999", "1x"})
    CHECK_MESSAGE(!parse_number(text).has_value(), text);
}

TEST_CASE("sizes are written exactly and read back") {
  CHECK(format_size(0) == "0");
  CHECK(format_size(1000) == "1000");
  CHECK(format_size(1023) == "1023");
  CHECK(format_size(1024) == "1K");
  CHECK(format_size(1536) == "1.5K");
  CHECK(format_size(1537) == "1537");
  CHECK(format_size(1024000) == "1000K");
  CHECK(format_size(1342177280) == "1.25G");
  CHECK(format_size(-4096) == "-4096");
  for (const int64_t bytes :
       {int64_t{1}, int64_t{1280}, int64_t{1} << 40, (int64_t{1} << 53) + 1, (int64_t{1} << 62) + 1,
        std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max() - 511})
    CHECK(parse_size(format_size(bytes)) == bytes);
}

TEST_CASE("durations are written as people read them") {
  CHECK(format_seconds(412e-6) == "412 µs");
  CHECK(format_seconds(3.21) == "3.21 s");
  CHECK(format_seconds(1.5e-9) == "1.50 ns");
  CHECK(format_seconds(0.0312) == "31.2 ms");
  CHECK(format_seconds(0) == "0 ns");
  CHECK(format_seconds(119) == "119 s");
  CHECK(format_seconds(120) == "2 m");
  CHECK(format_seconds(250) == "4 m 10 s");
  CHECK(format_seconds(-250) == "-4 m 10 s");
  CHECK(format_seconds(3599.7) == "1 h");
  CHECK(format_seconds(259200) == "72 h");
  CHECK(format_seconds(7199) == "2 h");
  CHECK(format_seconds(5400) == "1 h 30 m");
  CHECK(format_seconds(std::nan("")) == "not finite");
  CHECK(format_seconds(1e300) == "1e+300 s");
}

TEST_CASE("rates carry the unit that people use at their size") {
  CHECK(format_value(512, "bytes_per_second") == "512 B/s");
  CHECK(format_value(1234.4e3, "bytes_per_second") == "1.23 MB/s");
  CHECK(format_value(93.12e9, "bytes_per_second") == "93.1 GB/s");
  CHECK(format_value(9.99e12, "bytes_per_second") == "9990 GB/s");
  CHECK(format_value(2e13, "bytes_per_second") == "20.0 TB/s");
  CHECK(format_value(400e9, "bits_per_second") == "400 Gb/s");
  CHECK(format_value(93.1e9, "flops_per_second") == "93.1 GFLOP/s");
  CHECK(format_value(989e12, "flops_per_second") == "989 TFLOP/s");
  CHECK(format_value(451635817, "flops_per_joule") == "452 MFLOP/J");
  CHECK(format_value(74.15e9, "flops_per_joule") == "74.2 GFLOP/J");
  CHECK(format_value(1.979e15, "operations_per_second") == "1979 TOP/s");
  CHECK(format_value(9500, "io_per_second") == "9500 IOPS");
  CHECK(format_value(109000, "io_per_second") == "109 k IOPS");
  CHECK(format_value(1.2e7, "io_per_second") == "12.0 M IOPS");
  CHECK(format_value(999.6e6, "bytes_per_second") == "1.00 GB/s");
}

TEST_CASE("other units") {
  CHECK(format_value(1536, "bytes") == "1.50 KiB");
  CHECK(format_value(0.954, "share") == "95.4 %");
  CHECK(format_value(71.5, "celsius") == "71.5 °C");
  CHECK(format_value(2.6e9, "hertz") == "2.60 GHz");
  CHECK(format_value(312, "watts") == "312 W");
  CHECK(format_value(17, "count") == "17");
  CHECK(format_value(0.00123, "furlongs") == "0.00123 furlongs");
  CHECK(format_value(0.0456, "furlongs") == "0.0456 furlongs");
  CHECK(format_value(0.456, "furlongs") == "0.456 furlongs");
  CHECK(format_value(0, "furlongs") == "0 furlongs");
  CHECK(format_value(1e-5, "furlongs") == "1e-05 furlongs");
  CHECK(format_value(std::numeric_limits<double>::infinity(), "watts") == "not finite");
  const ValueText parts = format_value_parts(93.1e9, "flops_per_second");
  CHECK(parts.number == "93.1");
  CHECK(parts.unit == "GFLOP/s");
}

TEST_CASE("a unit begins where people change to it") {
  struct Step {
    double value;
    const char* unit;
    const char *below, *at;
  };
  for (const Step& s : {Step{1e3, "bytes_per_second", "990 B/s", "1.00 kB/s"},
                        Step{1e6, "bytes_per_second", "990 kB/s", "1.00 MB/s"},
                        Step{1e9, "bytes_per_second", "990 MB/s", "1.00 GB/s"},
                        Step{1e13, "bytes_per_second", "9900 GB/s", "10.0 TB/s"},
                        Step{1e9, "bits_per_second", "990 Mb/s", "1.00 Gb/s"},
                        Step{1e9, "flops_per_second", "990 MFLOP/s", "1.00 GFLOP/s"},
                        Step{1e13, "flops_per_second", "9900 GFLOP/s", "10.0 TFLOP/s"},
                        Step{1e9, "flops_per_joule", "990 MFLOP/J", "1.00 GFLOP/J"},
                        Step{1e13, "flops_per_joule", "9900 GFLOP/J", "10.0 TFLOP/J"},
                        Step{1e9, "operations_per_second", "990 MOP/s", "1.00 GOP/s"},
                        Step{1e13, "operations_per_second", "9900 GOP/s", "10.0 TOP/s"},
                        Step{1e4, "messages_per_second", "9900 msg/s", "10.0 k msg/s"},
                        Step{1e7, "messages_per_second", "9900 k msg/s", "10.0 M msg/s"},
                        Step{1e4, "io_per_second", "9900 IOPS", "10.0 k IOPS"},
                        Step{1e7, "io_per_second", "9900 k IOPS", "10.0 M IOPS"},
                        Step{1e6, "hertz", "990000 Hz", "1.00 MHz"},
                        Step{1e9, "hertz", "990 MHz", "1.00 GHz"},
                        Step{1024, "bytes", "1014 B", "1.00 KiB"},
                        Step{1048576, "bytes", "1014 KiB", "1.00 MiB"},
                        Step{1073741824, "bytes", "1014 MiB", "1.00 GiB"},
                        Step{1099511627776, "bytes", "1014 GiB", "1.00 TiB"},
                        Step{1e-6, "seconds", "990 ns", "1.00 µs"},
                        Step{1e-3, "seconds", "990 µs", "1.00 ms"},
                        Step{1, "seconds", "990 ms", "1.00 s"},
                        Step{120, "seconds", "119 s", "2 m"},
                        Step{3600, "seconds", "59 m 24 s", "1 h"}}) {
    CHECK(format_value(s.value * 0.99, s.unit) == s.below);
    CHECK(format_value(s.value, s.unit) == s.at);
  }
  CHECK(format_value(42.4, "count per second") == "42.4 /s");
  CHECK(format_value(0.5, "bytes_per_second") == "0.500 B/s");
}

TEST_CASE("a small figure keeps three digits on both sides of each power of ten") {
  struct Rounded {
    double value;
    const char* text;
  };
  for (const Rounded& r :
       {Rounded{0.00099, "0.00099 W"}, Rounded{0.001, "0.00100 W"}, Rounded{0.00999, "0.00999 W"},
        Rounded{0.01, "0.0100 W"}, Rounded{0.0999, "0.0999 W"}, Rounded{0.1, "0.100 W"},
        Rounded{0.999, "0.999 W"}, Rounded{1, "1.00 W"}, Rounded{9.99, "9.99 W"},
        Rounded{10, "10.0 W"}, Rounded{99.9, "99.9 W"}, Rounded{100, "100 W"},
        Rounded{-2.5, "-2.50 W"}})
    CHECK(format_value(r.value, "watts") == r.text);
}

TEST_CASE(
    "times of a minute and more: rounded, signed, and no duration beyond ten thousand years") {
  CHECK(format_seconds(-119) == "-119 s");
  CHECK(format_seconds(-120) == "-2 m");
  CHECK(format_seconds(3599) == "59 m 59 s");
  CHECK(format_seconds(3660) == "1 h 1 m");
  CHECK(format_seconds(7229) == "2 h");
  CHECK(format_seconds(7230) == "2 h 1 m");
  CHECK(format_seconds(-7230) == "-2 h 1 m");
  CHECK(format_seconds(2.9e11) == "80555555 h 33 m");
  CHECK(format_seconds(3e11) == "3e+11 s");
}

TEST_CASE("sizes at the ends of what a whole number holds") {
  CHECK(parse_size("9223372036854775296") == 9223372036854775296);
  CHECK(parse_size("9e18") == 9000000000000000000);
  CHECK_FALSE(parse_size("9.3e18"));
  CHECK(format_size(int64_t{1} << 60) == "1024P");
  CHECK(format_size(1280) == "1.25K");
  CHECK(format_size(1792) == "1.75K");
  CHECK(format_size(1152) == "1152");
}
