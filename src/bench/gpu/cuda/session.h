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
  // Why the GPU is no longer used: it failed or hangs. Nothing is asked of it from then on.
  Said lost = {};
  bool hangs = false;  // the GPU was lost because it hangs
};

// The GPUs of this rank, ready to be used.
class GpuSession {
 public:
  // Collective. Opens the GPUs of this rank. Returns a reason, the same on all ranks, if the GPUs
  // of some host cannot be used: no driver, MIG, exclusive mode, fabric not ready.
  static std::variant<GpuSession, Said> open(Context& context);

  std::vector<GpuUnit>& units() { return units_; }
  const std::vector<GpuUnit>& units() const { return units_; }

  // Watches this rank's GPUs from now on; null if NVML is absent or the rank has no GPU.
  std::unique_ptr<GpuTelemetry> watch() const;
  // Ends that watch, which may be null. A GPU with a fatal error is lost from then on, also if the
  // error came at the watch's very end. `record` and `host`: those of GpuTelemetry::stop().
  void end_watch(GpuTelemetry* watch, Record& record, const std::string& host);
  GpuLimits limits(const GpuUnit& unit) const;

  // Adds facts and notes that every GPU record has: product, versions, unknown products.
  void describe(Record& record) const;
  // Call it last, after the telemetry has added its checks. The check "gpu" of every lost GPU of
  // this rank fails and says why. A GPU with a failed check keeps no numbers, and neither does a
  // pair with that GPU. The numbers of other GPUs stand: the checks are findings.
  void settle(Record& record) const;

 private:
  std::vector<GpuUnit> units_;
  std::optional<nvml::Library> nvml_;
  Said no_nvml_;
};

// The unit is lost from now on, and says which GPU it is and why.
void lose(GpuUnit& unit, const Said& why);

// Does `work` on the unit unless it is lost; returns whether the work was done. If the GPU fails or
// hangs, it is lost from then on, and the other GPUs and ranks go on. Rethrows errors that are not
// about the GPU: Unsupported and OutOfMemory.
bool guarded(GpuUnit& unit, const std::function<void()>& work);

// Seconds; a device that does not come to an end of what is queued meanwhile hangs.
inline constexpr double kGpuFreeSeconds = 10;

// Calls `free` on a thread of its own, with the unit's device selected. If it is not back after
// kGpuFreeSeconds, it is left behind and the unit is lost. `free` must own what it frees.
void free_in_time(GpuUnit& unit, const std::function<void()>& free);

// Destroys what lies on the unit's device. If the unit is lost, it is left behind: freeing waits
// for all that is queued on the device, which may never end. An interrupted case has a step queued.
template <typename T>
void dispose(GpuUnit& unit, std::unique_ptr<T>& what) {
  if (!what) return;
  if (!unit.lost.empty()) {
    static_cast<void>(what.release());
    return;
  }
  const auto held = std::make_shared<std::unique_ptr<T>>(std::move(what));
  free_in_time(unit, [held] { held->reset(); });
}

// Collective. Returns the lowest rank that drives a GPU which is not lost; 0 if none does. A rank
// without one has no samples that could decide for others.
int first_with_gpu(Context& context, const GpuSession& session);

// Collective. Returns, on all ranks, the first problem that is not empty, in the order of ranks;
// else empty.
Said agreed(Context& context, Said problem);

// The bare record of a case that cannot be measured here.
std::vector<Record> skipped_record(const char* name, const Params& params, Said reason);

// Selects the unit's device and returns its ordinal. A class initializes its first member with
// this, so that its other members lie on the device.
int selected(const GpuUnit& unit);

// Seconds of a GPU sample: long compared with the clock of events and with the launch of work.
inline constexpr double kGpuSampleSeconds = 0.02;

// Seconds; a longer wait for queued work is a hang.
inline constexpr double kGpuHangSeconds = 120;

// Adds power, clock and energy of one GPU over a window. `done` is the FLOP done in the window; 0:
// no efficiency is given.
void add_window(Record& record, size_t entity, const GpuWindow& window, double done);

}  // namespace cb
