#include "bench/gpu/cuda/burn_seat.h"

#include <algorithm>

#include <fmt/format.h>

#include "bench/gpu/gemm_points.h"
#include "bench/gpu/sustained.h"
#include "kernels/march.h"

namespace cb {

const char* SeatReport::result_check() const {
  if (name_ == "sm") return "sm";
  return name_ == "march" ? "memory" : "result";
}

void SeatReport::add_check(const char* name, size_t entity, uint64_t wrong, const Said& detail) {
  record_.checks.push_back({.name = name,
                            .passed = wrong == 0,
                            .value = static_cast<double>(wrong),
                            .limit = 0,
                            .entity = entity,
                            .detail = wrong == 0 ? Said() : detail});
}

// A GPU that finished no pass counts as wrong: it has shown nothing.
uint64_t SeatReport::wrong_results(const Seat& seat) const {
  const BurnFindings& found = seat.burner->findings();
  const uint64_t wrong = found.wrong + (seat.first_wrong.empty() ? 0 : 1);
  return found.passes == 0 ? std::max<uint64_t>(wrong, 1) : wrong;
}

void SeatReport::add_checks(const Seat& seat, size_t entity) {
  const BurnFindings& found = seat.burner->findings();
  const std::string name = entity_name(seat.unit->entity);
  Said detail = seat.first_wrong.empty() ? found.first : seat.first_wrong;
  if (found.passes == 0 && detail.empty())
    detail = seat.failed.empty() ? said("burn.no_pass", name)
                                 : said("burn.no_pass_why", name, seat.failed);
  add_check(result_check(), entity, wrong_results(seat),
            said("burn.wrong_in_passes", detail, found.wrong, found.passes));
  if (is_product_phase(name_))
    add_check("finite", entity, found.not_finite, said("burn.not_finite", name, found.not_finite));
  add_check("hang", entity, seat.hung.empty() ? 0 : 1, seat.hung);
  if (!seat.failed.empty()) record_.notes.push_back(said("burn.stopped_early", name, seat.failed));
  if (const auto covered = seat.burner->covered_share())
    record_.notes.push_back(said("burn.covered", name, Quantity{*covered, "share"}));
  if (name_ == "march" && !found.all_tests && !seat.dropped())
    record_.notes.push_back(said("burn.time_short", name, kernels::march_tests));
}

void SeatReport::add(const Seat& seat, const GpuWindow* window, const GpuLimits& limits) {
  const size_t entity = record_.entity(seat.unit->entity);
  add_checks(seat, entity);
  if (wrong_results(seat) != 0 || seat.dropped()) return;
  add_rates(seat, entity);
  if (plan_.pulse) add_pulse(seat, entity);
  if (window != nullptr) add_readings(*window, limits, entity);
}

void SeatReport::add_rates(const Seat& seat, size_t entity) {
  const bool memory = name_ == "hbm" || name_ == "march";
  const bool integer = is_product_phase(name_) && gpu_dtype(name_).integer;
  const char* rate = memory    ? "bytes_per_second"
                     : integer ? "operations_per_second"
                               : "flops_per_second";
  std::optional<Ceiling> ceiling;
  if (const auto peak = peak_of(seat.unit->sku, name_))
    ceiling = Ceiling{*peak, said("gpu.dense_only", seat.unit->sku->name)};
  if (memory && seat.unit->sku != nullptr)
    ceiling = Ceiling{seat.unit->sku->memory_bytes_per_second,
                      said_names({seat.unit->sku->name, seat.unit->sku->source})};
  record_.add(rate, entity, seat.rates, std::move(ceiling));
  if (const auto sustained = sustained_share(seat.in_order))
    record_.add("sustained_share", entity, {*sustained});
  record_.add("passes_per_second", entity,
              {static_cast<double>(seat.burner->findings().passes) / elapsed_});
}

// Reports the pulses that really happened: a product longer than a pulse makes them fewer and
// longer.
void SeatReport::add_pulse(const Seat& seat, size_t entity) {
  const double hertz = static_cast<double>(seat.steps) / elapsed_;
  record_.add("pulse_hertz", entity, {hertz});
  record_.add("pulse_duty", entity, {seat.seconds / elapsed_});
  if (hertz < 0.9 * plan_.pulse->hertz)
    record_.notes.push_back(said("burn.pulses", entity_name(seat.unit->entity),
                                 fmt::format("{:.1f}", hertz),
                                 fmt::format("{:.1f}", plan_.pulse->hertz)));
}

void SeatReport::add_power(const GpuWindow& window, std::optional<double> limit, size_t entity) {
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

void SeatReport::add_readings(const GpuWindow& window, const GpuLimits& limits, size_t entity) {
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
