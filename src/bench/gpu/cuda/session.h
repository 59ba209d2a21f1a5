#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bench/gpu/telemetry.h"
#include "bench/harness/case.h"
#include "model/gpu_sku.h"
#include "sys/gpu/cuda/cuda.h"
#include "sys/gpu/nvml.h"

namespace cb {

// One GPU that this rank drives.
struct GpuUnit {
  cuda::Device device;
  std::optional<nvml::Gpu> nvml = {};
  const GpuSku* sku = nullptr;  // null for a product that the table does not know
  Entity entity;                // id: NVML's index, else CUDA's ordinal
  // Why it is used no more: it failed or hangs. Nothing is asked of it from then on.
  Said lost = {};
  bool hangs = false;  // lost because of that
};

// The GPUs of this rank, ready to be used.
class GpuSession {
 public:
  // Collective. The reason, agreed on by all ranks, where the GPUs of some host cannot be used: no
  // driver, MIG, exclusive mode, fabric not ready.
  static std::variant<GpuSession, Said> open(Context& context);

  std::vector<GpuUnit>& units() { return units_; }
  const std::vector<GpuUnit>& units() const { return units_; }

  // Watches this rank's GPUs from now on; null where NVML is absent or the rank has none.
  std::unique_ptr<GpuTelemetry> watch() const;
  GpuLimits limits(const GpuUnit& unit) const;

  // Facts and notes that every GPU record has: product, versions, unknown products.
  void describe(Record& record) const;
  // Last, after the telemetry's own checks: the check "gpu" of every GPU of this rank that is lost
  // fails and says why. A GPU with a failed check has no numbers, nor has a pair with it; those of
  // the others stand, so the checks are findings.
  void settle(Record& record) const;

 private:
  std::vector<GpuUnit> units_;
  std::optional<nvml::Library> nvml_;
  Said no_nvml_;
};

// Does `work` on the unit unless it is lost. If the GPU fails or hangs it is lost from then on: the
// other GPUs and ranks go on. Returns whether the work was done. What is not about the GPU, such as
// Unsupported or too little memory, is thrown.
bool guarded(GpuUnit& unit, const std::function<void()>& work);

// Destroys what lies on the unit's device, but leaves it behind if the unit is lost: freeing waits
// for the device, which may never answer.
template <typename T>
void dispose(const GpuUnit& unit, std::unique_ptr<T>& what) {
  if (unit.lost.empty())
    what.reset();
  else
    static_cast<void>(what.release());
}

// Collective. The first rank's problem that is not empty, on all ranks; else empty.
Said agreed(Context& context, Said problem);

// The bare record of a case that cannot measure here.
std::vector<Record> skipped_record(const char* name, const Params& params, Said reason);

// Selects the unit's device and returns its ordinal: of a class whose members lie on the device,
// the first one is made with it.
int selected(const GpuUnit& unit);

// A sample of GPU work: long against the clock of the events and against starting the work.
inline constexpr double kGpuSampleSeconds = 0.02;

// A wait for queued work that takes longer is a hang.
inline constexpr double kGpuHangSeconds = 120;

// Adds power, clock and energy of one GPU over a window; `done` is the work in the window in
// `unit`s (0: no efficiency is given).
void add_window(Record& record, size_t entity, const GpuWindow& window, double done);

}  // namespace cb
