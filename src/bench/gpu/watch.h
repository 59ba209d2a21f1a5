#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/gpu/activity.h"
#include "bench/gpu/telemetry.h"
#include "core/catalogue.h"

namespace cb {

// Keeps the GPUs with these indices (empty: all) and, if `family` is not empty, of those only the
// ones that one of its processes uses. Throws Error naming what is there if none is left.
struct GpuProcesses {
  nvml::Gpu gpu;
  std::vector<int> pids = {};
};
std::vector<nvml::Gpu> watched_gpus(const std::vector<GpuProcesses>& all,
                                    const std::set<int>& indices, const std::set<int>& family,
                                    int pid);

// What was seen of one GPU, a window after the other.
class WatchedGpu {
 public:
  explicit WatchedGpu(nvml::Gpu gpu) : gpu_(std::move(gpu)) {}

  void add(const GpuWindow& window);
  // Adds the metrics, a value for each window, and the sentence about their mean.
  void report(Record& record, const std::string& host) const;
  // "98/97/11/91", with – for what is not known: utilisation, SMs, tensor cores and DRAM in
  // percent.
  std::string latest() const;
  const nvml::Gpu& gpu() const { return gpu_; }

 private:
  nvml::Gpu gpu_;
  std::map<std::string, Samples> values_ = {};
  std::map<std::string, double> last_ = {};
  GpuLinkRates rates_ = {};
  Said no_units_ = {};
  std::map<std::string, double> impossible_ = {};  // as GpuWindow's; the last of each name
};

std::vector<MetricDef> watch_metrics();

}  // namespace cb
