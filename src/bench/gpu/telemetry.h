#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "model/gpu_activity.h"
#include "sys/gpu/nvml.h"

namespace cb {

// What the telemetry saw of one GPU between open_window() and close_window().
struct GpuWindow {
  Samples watts = Samples(), clock_hertz = Samples(), memory_clock_hertz = Samples(),
          temperature_celsius = Samples();
  std::optional<double> energy_joules = {};  // energy by the GPU's own counter
  double seconds = 0;
  std::optional<double> pcie_generation = {}, pcie_lanes = {};  // last seen
  uint64_t samples = 0;
  uint64_t throttled = 0;     // samples slowed for heat, by the hardware, or by the power brake
  uint64_t power_capped = 0;  // samples at the power limit, which is normal under load
  Samples utilisation = Samples();  // shares of the time, as nvidia-smi tells them
  // Of these, those that tell of no time before the window.
  Samples utilisation_within = Samples();
  // What the GPU's units did over exactly the window; nothing of one shorter than 100 ms.
  std::optional<nvml::Readings> units = {};
  Said no_units = {};  // why this GPU does not tell
  // Shares beyond the whole that the driver told, by name: they are in no other member.
  std::map<std::string, double> impossible = {};

  // Mean power: the energy counter over the window; without it the mean of the samples.
  std::optional<double> mean_watts() const;
  // Each reading of the power divided by `limit` (watts); without readings the mean alone.
  Samples share_of_power(double limit) const;
  // Each reading of the memory's clock divided by `highest` (hertz).
  Samples share_of_memory_clock(double highest) const;
  std::optional<double> nvlink_bytes_per_second = {};  // of the product, one direction
  GpuActivity activity() const;                        // for the sentence
};

// The limits that a window's readings are compared with; absent if NVML does not say.
struct GpuLimits {
  std::optional<double> watts = {};  // the enforced power limit
  std::optional<double> memory_clock_hertz = {};
};

// A thread of its own watches the GPUs from construction to stop(): time lines at 20 Hz, those of
// the units' activity at 5 Hz, counters before and after, critical errors. If the thread is stuck
// in the driver, it is left behind.
class GpuTelemetry {
 public:
  static constexpr double kPeriodSeconds = 0.05;

  // `gpus` must not be empty. The constructor takes the first reading; it throws Error if that
  // takes longer than `patience_seconds`. Looks every `period_seconds`.
  GpuTelemetry(const nvml::Library& library, std::vector<nvml::Gpu> gpus,
               double patience_seconds = 30, double period_seconds = kPeriodSeconds);
  ~GpuTelemetry();
  GpuTelemetry(const GpuTelemetry&) = delete;
  GpuTelemetry& operator=(const GpuTelemetry&) = delete;

  void open_window();
  std::vector<GpuWindow> close_window();  // one per GPU, in their order

  // The reason why further results of that GPU (position in the list) do not count: a fatal Xid or
  // an uncorrectable memory error since the start.
  std::optional<Said> fatal(size_t position) const;
  bool any_fatal() const;

  // Stops watching and adds to the record what was seen: series, deltas, and the check "gpu" for
  // every GPU. The check fails if fatal() names the GPU or NVML no longer answers for it.
  void stop(Record& record, const std::string& host);

  struct State;  // shared with the thread

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cb
