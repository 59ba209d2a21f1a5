#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/params.h"

namespace cb {

// The kinds of work that a phase of the burn may do: the product of a dtype, "hbm" (device memory
// at full bandwidth), "sm" (the same chain of multiply-adds on every SM), "march" (memory test).
std::vector<std::string> burn_phase_names();
bool is_product_phase(const std::string& phase);

// A square wave of load: `hertz` periods a second; the share `duty` of each is under load.
struct Pulse {
  double hertz = 0;
  double duty = 0;

  double on_seconds() const { return duty / hertz; }
  double period_seconds() const { return 1 / hertz; }
};
// Reads "2:0.5" (hertz:duty); nothing if malformed or out of range (0.1 to 1000 Hz, duty 0.05 to
// 0.95).
std::optional<Pulse> parse_pulse(std::string_view text);

struct BurnPlan {
  std::vector<std::string> phases;
  double phase_seconds = 0;  // of each phase
  std::optional<Pulse> pulse = {};
};
BurnPlan burn_plan(const Params& params);
void check_burn_plan(const Params& params, Problems& problems);

}  // namespace cb
