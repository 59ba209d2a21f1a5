#include "bench/gpu/burn_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/gpu/gemm_points.h"
#include "core/units.h"

namespace cb {

std::vector<std::string> burn_phase_names() {
  std::vector<std::string> out = gpu_dtype_names();
  out.insert(out.end(), {"hbm", "sm", "march"});
  return out;
}

bool is_product_phase(const std::string& phase) {
  const std::vector<std::string> dtypes = gpu_dtype_names();
  return std::ranges::find(dtypes, phase) != dtypes.end();
}

std::optional<Pulse> parse_pulse(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto hertz = parse_number(text.substr(0, colon));
  const auto duty = parse_number(text.substr(colon + 1));
  if (!hertz || !duty) return std::nullopt;
  if (*hertz < 0.1 || *hertz > 1000 || *duty < 0.05 || *duty > 0.95) return std::nullopt;
  return Pulse{*hertz, *duty};
}

BurnPlan burn_plan(const Params& params) {
  BurnPlan plan{.phases = params.texts("phase")};
  plan.phase_seconds = params.number("duration") / static_cast<double>(plan.phases.size());
  if (params.has("pulse")) plan.pulse = parse_pulse(params.text("pulse"));
  return plan;
}

void check_burn_plan(const Params& params, Problems& problems) {
  if (params.has("pulse") && !parse_pulse(params.text("pulse")))
    problems.add("--pulse", fmt::format("'{}' is not HZ:DUTY with 0.1 to 1000 Hz and a duty of "
                                        "0.05 to 0.95, such as 2:0.5",
                                        params.text("pulse")));
  if (params.has("golden") && params.has("write-golden"))
    problems.add("--write-golden", "writes what --golden reads: give one of them");
  // Results are hashed by words of eight bytes.
  const int64_t size = params.integer("size");
  for (const std::string& phase : params.texts("phase")) {
    if (!is_product_phase(phase)) continue;
    if (const int64_t multiple = edge_multiple(gpu_dtype(phase)); size % multiple != 0)
      problems.add("--size", fmt::format("{}: {} needs a multiple of {}", size, phase, multiple));
  }
}

}  // namespace cb
