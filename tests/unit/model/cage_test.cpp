// Two ports that tell of one serial number: one cage, or a copy.
#include <doctest/doctest.h>

#include "model/optics/cage.h"

using namespace cb;

namespace {

OpticalModule module_in_cage() {
  const ModuleLane lane{1e-3, 1.2e-3, 8e-3};
  return {.kind = "OSFP",
          .vendor = "Example",
          .part_number = "EX",
          .serial = "S",
          .celsius = 74,
          .lanes = {lane, lane},
          .celsius_limits = ModuleLimits{.high_alarm = 75, .low_alarm = -5},
          .state = 3};
}

}  // namespace

TEST_CASE("one serial number is of one maker and part, and is told") {
  const OpticalModule a = module_in_cage();
  CHECK(is_one_serial(a, a));
  OpticalModule b = a;
  b.vendor = "Other";
  CHECK(!is_one_serial(a, b));
  b = a;
  b.serial = "T";
  CHECK(!is_one_serial(a, b));
  OpticalModule blank = a;
  blank.serial.clear();
  CHECK(!is_one_serial(blank, blank));
}

TEST_CASE("readings of one module are near each other, from both sides") {
  const auto alike = [](const auto& change) {
    OpticalModule b = module_in_cage();
    change(b);
    return reads_alike(module_in_cage(), b) && reads_alike(b, module_in_cage());
  };
  CHECK(alike([](OpticalModule&) {}));
  CHECK(alike([](OpticalModule& o) { o.celsius = 72; }));
  CHECK(!alike([](OpticalModule& o) { o.celsius = 71.9; }));
  CHECK(!alike([](OpticalModule& o) { o.celsius = 75.1; }));  // near, and beyond its limit
  CHECK(!alike([](OpticalModule& o) { o.celsius.reset(); }));
  CHECK(alike([](OpticalModule& o) { o.lanes[1].receive_watts = 0.8e-3; }));    // 0.97 dB
  CHECK(!alike([](OpticalModule& o) { o.lanes[1].receive_watts = 0.79e-3; }));  // 1.02 dB
  CHECK(!alike([](OpticalModule& o) { o.lanes[1].receive_watts = 0; }));
  CHECK(alike([](OpticalModule& o) { o.lanes[0].bias_amperes = 8.7e-3; }));
  CHECK(!alike([](OpticalModule& o) { o.lanes[0].bias_amperes = 8.9e-3; }));
  CHECK(!alike([](OpticalModule& o) { o.lanes.pop_back(); }));
  CHECK(!alike([](OpticalModule& o) { o.flags = {{"tx_fault", 1, true}}; }));
  CHECK(!alike([](OpticalModule& o) { o.state = 5; }));
  CHECK(!alike([](OpticalModule& o) { o.inactive_lanes = {2}; }));
}
