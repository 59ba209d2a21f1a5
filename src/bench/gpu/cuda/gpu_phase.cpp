#include "bench/gpu/cuda/gpu_phase.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/gpu/gemm_points.h"
#include "bench/gpu/sustained.h"
#include "kernels/march.h"

namespace cb {

const char* GpuPhaseReport::result_check() const {
  if (name_ == "sm") return "sm";
  return name_ == "march" ? "memory" : "result";
}

void GpuPhaseReport::add_check(const char* name, size_t entity, uint64_t wrong,
                               const Said& detail) {
  record_.checks.push_back({.name = name,
                            .passed = wrong == 0,
                            .value = static_cast<double>(wrong),
                            .limit = 0,
                            .entity = entity,
                            .detail = wrong == 0 ? Said() : detail});
}

// A GPU that finished no pass counts as wrong: it has shown nothing.
uint64_t GpuPhaseReport::wrong_results(const GpuPhase& gpu) const {
  const BurnFindings& found = gpu.burner->findings();
  const uint64_t wrong = found.wrong + (gpu.first_wrong.empty() ? 0 : 1);
  return found.passes == 0 ? std::max<uint64_t>(wrong, 1) : wrong;
}

void GpuPhaseReport::add_checks(const GpuPhase& gpu, size_t entity) {
  const BurnFindings& found = gpu.burner->findings();
  const std::string name = entity_name(gpu.unit->entity);
  Said detail = gpu.first_wrong.empty() ? found.first : gpu.first_wrong;
  if (found.passes == 0 && detail.empty())
    detail = gpu.failed.empty() ? said("burn.no_pass", name)
                                : said("burn.no_pass_why", name, gpu.failed);
  add_check(result_check(), entity, wrong_results(gpu),
            said("burn.wrong_in_passes", detail, found.wrong, found.passes));
  if (is_product_phase(name_))
    add_check("finite", entity, found.not_finite, said("burn.not_finite", name, found.not_finite));
  add_check("hang", entity, gpu.hung.empty() ? 0 : 1, gpu.hung);
  if (!gpu.failed.empty()) record_.notes.push_back(said("burn.stopped_early", name, gpu.failed));
  if (const auto covered = gpu.burner->covered_share())
    record_.notes.push_back(said("burn.covered", name, Quantity{*covered, "share"}));
  if (name_ == "march" && !found.all_tests && !gpu.dropped())
    record_.notes.push_back(said("burn.time_short", name, kernels::march_tests));
}

void GpuPhaseReport::add(const GpuPhase& gpu, const GpuWindow* window, const GpuLimits& limits) {
  const size_t entity = record_.entity(gpu.unit->entity);
  add_checks(gpu, entity);
  if (wrong_results(gpu) != 0 || gpu.dropped()) return;
  add_rates(gpu, entity);
  if (plan_.pulse) add_pulse(gpu, entity);
  if (window != nullptr) add_readings(*window, limits, entity);
}

void GpuPhaseReport::add_rates(const GpuPhase& gpu, size_t entity) {
  const bool memory = name_ == "hbm" || name_ == "march";
  const bool integer = is_product_phase(name_) && gpu_dtype(name_).integer;
  const char* rate = memory    ? "bytes_per_second"
                     : integer ? "operations_per_second"
                               : "flops_per_second";
  std::optional<Ceiling> ceiling;
  if (const auto peak = peak_of(gpu.unit->sku, name_))
    ceiling = Ceiling{*peak, said("gpu.dense_only", gpu.unit->sku->name)};
  if (memory && gpu.unit->sku != nullptr)
    ceiling = Ceiling{gpu.unit->sku->memory_bytes_per_second,
                      said_names({gpu.unit->sku->name, gpu.unit->sku->source})};
  record_.add(rate, entity, gpu.rates, std::move(ceiling));
  if (const auto sustained = sustained_share(gpu.in_order))
    record_.add("sustained_share", entity, {*sustained});
  record_.add("passes_per_second", entity,
              {static_cast<double>(gpu.burner->findings().passes) / elapsed_});
}

// Reports the pulses that really happened: a product longer than a pulse makes them fewer and
// longer.
void GpuPhaseReport::add_pulse(const GpuPhase& gpu, size_t entity) {
  const double hertz = static_cast<double>(gpu.steps) / elapsed_;
  record_.add("pulse_hertz", entity, {hertz});
  record_.add("pulse_duty", entity, {gpu.seconds / elapsed_});
  if (hertz < 0.9 * plan_.pulse->hertz)
    record_.notes.push_back(said("burn.pulses", entity_name(gpu.unit->entity),
                                 fmt::format("{:.1f}", hertz),
                                 fmt::format("{:.1f}", plan_.pulse->hertz)));
}

void GpuPhaseReport::add_power(const GpuWindow& window, std::optional<double> limit,
                               size_t entity) {
  add_window(record_, entity, window, 0);
  for (Metric& m : record_.metrics) {
    if (m.entity != entity || m.name != "watts") continue;
    if (limit) m.ceiling = Ceiling{*limit, said("gpu.power_limit")};
  }
  if (limit && *limit > 0) {
    Samples share = window.share_of_power(*limit);
    if (!share.empty()) record_.add("share_of_power_limit", entity, std::move(share));
  }
}

void GpuPhaseReport::add_readings(const GpuWindow& window, const GpuLimits& limits, size_t entity) {
  add_power(window, limits.watts, entity);
  if (limits.memory_clock_hertz.value_or(0) > 0 && !window.memory_clock_hertz.empty())
    record_.add("memory_clock_share", entity,
                window.share_of_memory_clock(*limits.memory_clock_hertz));
  if (window.samples > 0)
    record_.metrics.push_back(
        {.name = "throttled_share",
         .unit = "share",
         .better = Better::lower,
         .entity = entity,
         .samples = {static_cast<double>(window.throttled) / static_cast<double>(window.samples)}});
  if (!window.temperature_celsius.empty())
    record_.add("temperature_celsius", entity, window.temperature_celsius);
}

}  // namespace cb
