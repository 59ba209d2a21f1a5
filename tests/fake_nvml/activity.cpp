// What the GPUs' units do (GPM), the utilisation, and the processes. Semantics: nvml.h 13,
// "GPM Functions". gpm_NAME is a metric in percent or MiB/s, gpm=0 a product without GPM,
// gpm_refuse the number of a metric that says "not supported".
#include <cmath>
#include <ctime>
#include <limits>
#include <set>
#include <vector>

#include "tests/fake_nvml/script.h"

using namespace fake_nvml;

namespace {

// The counters of one GPU as they were when they were refreshed last: every 100 ms.
struct Sample {
  int gpu = -1;  // -1: nothing was read into it
  double refreshed = 0;
};

std::set<Sample*>& samples() {
  static auto* all = new std::set<Sample*>;
  return *all;
}

Sample* sample_of(abi::GpmSample handle) {
  auto* sample = reinterpret_cast<Sample*>(handle);
  return samples().contains(sample) ? sample : nullptr;
}

struct Metric {
  unsigned id;
  const char* key;
};
constexpr Metric kMetrics[] = {{2, "gpm_sm"},
                               {3, "gpm_occupancy"},
                               {4, "gpm_integer"},
                               {5, "gpm_tensor"},
                               {10, "gpm_dram"},
                               {11, "gpm_fp64"},
                               {12, "gpm_fp32"},
                               {13, "gpm_fp16"},
                               {20, "gpm_pcie_sent"},
                               {21, "gpm_pcie_received"},
                               {60, "gpm_nvlink_received"},
                               {61, "gpm_nvlink_sent"}};

const char* key_of(unsigned id) {
  for (const Metric& metric : kMetrics)
    if (metric.id == id) return metric.key;
  return nullptr;
}

// The counter grows by the metric's value in a second: the metric is the growth over the time.
double counter(const char* key, const Sample& at) { return number(key, at.gpu, 0) * at.refreshed; }

void fill(abi::GpmMetric& metric, const Sample& first, const Sample& second) {
  const char* key = key_of(metric.id);
  metric.result = abi::kSuccess;
  if (key == nullptr || number("gpm_refuse", first.gpu, -1) == metric.id) {
    metric.result = abi::kNotSupported;
    metric.value = 0;
    return;
  }
  const double seconds = second.refreshed - first.refreshed;
  metric.value = seconds > 0 ? (counter(key, second) - counter(key, first)) / seconds
                             : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

extern "C" {

abi::Return nvmlDeviceGetUtilizationRates(abi::Device device, abi::Utilisation* to) {
  ENTER();
  to->gpu = static_cast<unsigned>(number("utilisation", gpu, 0));
  to->memory = static_cast<unsigned>(number("memory_utilisation", gpu, 0));
  return abi::kSuccess;
}

// pids=1200,1201: those; else `processes` of them.
abi::Return nvmlDeviceGetComputeRunningProcesses_v3(abi::Device device, unsigned* n,
                                                    abi::ProcessInfo* list) {
  ENTER();
  std::vector<unsigned> pids;
  const char* given = scripted("pids", gpu);
  std::istringstream words(given == nullptr ? "" : given);
  for (std::string word; std::getline(words, word, ',');)
    pids.push_back(static_cast<unsigned>(std::atoi(word.c_str())));
  if (given == nullptr) {
    for (int i = 0; i < number("processes", gpu, 0); ++i)
      pids.push_back(static_cast<unsigned>(1000000 + i));
  }
  const unsigned room = *n;
  *n = static_cast<unsigned>(pids.size());
  if (room < pids.size()) return abi::kInsufficientSize;
  for (size_t i = 0; i < pids.size(); ++i)
    list[i] = {.pid = pids[i], .used_bytes = 1 << 30, .gpu_instance = ~0U, .compute_instance = ~0U};
  return abi::kSuccess;
}

#ifndef CB_FAKE_OLD
abi::Return nvmlGpmQueryDeviceSupport(abi::Device device, abi::GpmSupport* to) {
  ENTER();
  if (to->version != abi::kGpmSupportVersion) return abi::kVersionMismatch;
  to->supported = number("gpm", gpu, 1) != 0 ? 1 : 0;
  return abi::kSuccess;
}

abi::Return nvmlGpmSampleAlloc(abi::GpmSample* to) {
  if (to == nullptr) return abi::kInvalidArgument;
  auto* made = new Sample;
  samples().insert(made);
  *to = reinterpret_cast<abi::GpmSample>(made);
  return enter("nvmlGpmSampleAlloc", -1);
}

abi::Return nvmlGpmSampleFree(abi::GpmSample handle) {
  Sample* sample = sample_of(handle);
  if (sample == nullptr) return abi::kInvalidArgument;
  samples().erase(sample);
  delete sample;
  return enter("nvmlGpmSampleFree", -1);
}

// Of a GPU in MIG mode only nvmlGpmMigSampleGet reads.
abi::Return nvmlGpmSampleGet(abi::Device device, abi::GpmSample handle) {
  ENTER();
  Sample* sample = sample_of(handle);
  if (sample == nullptr) return abi::kInvalidArgument;
  if (number("gpm", gpu, 1) == 0 || number("mig_mode", gpu, 0) != 0) return abi::kNotSupported;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  constexpr double kRefresh = 0.1;
  const double seconds = static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  *sample = {gpu, std::floor(seconds / kRefresh) * kRefresh};
  return abi::kSuccess;
}

// Needs two samples that were read, of one GPU. Each metric has a result of its own.
abi::Return nvmlGpmMetricsGet(abi::GpmMetricsGet* get) {
  if (get->version != abi::kGpmMetricsGetVersion) return abi::kVersionMismatch;
  const Sample* first = sample_of(get->first);
  const Sample* second = sample_of(get->second);
  if (first == nullptr || second == nullptr || first == second || first->gpu < 0 ||
      first->gpu != second->gpu)
    return abi::kInvalidArgument;
  if (const abi::Return code = enter("nvmlGpmMetricsGet", first->gpu); code != abi::kSuccess)
    return code;
  for (unsigned i = 0; i < get->count; ++i) fill(get->metrics[i], *first, *second);
  return abi::kSuccess;
}
#endif

}  // extern "C"
