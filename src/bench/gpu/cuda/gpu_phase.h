#pragma once

#include <memory>
#include <string>

#include "bench/gpu/burn_plan.h"
#include "bench/gpu/cuda/burner.h"

namespace cb {

// One GPU in one phase.
struct GpuPhase {
  GpuUnit* unit = nullptr;
  std::unique_ptr<Burner> burner;
  Samples rates = Samples();
  std::vector<double> in_order = {};  // every value of `rates`, in the order of measuring
  double seconds = 0;                 // time of steps on the GPU
  uint64_t steps = 0;
  Said first_wrong;   // set if the first result was not the golden one
  Said hung, failed;  // why the GPU was dropped
  bool dropped() const { return !hung.empty() || !failed.empty(); }
};

// Writes what a phase's record says about its GPUs.
class GpuPhaseReport {
 public:
  // `elapsed_seconds`: duration of the phase under load, pauses of pulses included.
  GpuPhaseReport(Record& record, const std::string& phase, const BurnPlan& plan,
                 double elapsed_seconds)
      : record_(record), name_(phase), plan_(plan), elapsed_(elapsed_seconds) {}

  // Adds the checks of one GPU and, if nothing was wrong, its numbers. `window` is what the
  // telemetry saw; may be null.
  void add(const GpuPhase& gpu, const GpuWindow* window, const GpuLimits& limits);

 private:
  const char* result_check() const;
  void add_check(const char* name, size_t entity, uint64_t wrong, const Said& detail);
  void add_checks(const GpuPhase& gpu, size_t entity);
  uint64_t wrong_results(const GpuPhase& gpu) const;
  void add_rates(const GpuPhase& gpu, size_t entity);
  void add_pulse(const GpuPhase& gpu, size_t entity);
  void add_power(const GpuWindow& window, std::optional<double> limit, size_t entity);
  void add_readings(const GpuWindow& window, const GpuLimits& limits, size_t entity);

  Record& record_;
  const std::string& name_;
  const BurnPlan& plan_;
  double elapsed_;
};

}  // namespace cb
