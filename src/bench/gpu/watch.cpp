#include "bench/gpu/watch.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "model/pcie.h"

namespace cb {
namespace {

// "GPU 0: 4711, 4712; GPU 1: none".
std::string processes_text(const std::vector<GpuProcesses>& all) {
  std::vector<std::string> parts;
  for (const GpuProcesses& one : all)
    parts.push_back(fmt::format(
        "GPU {}: {}", one.gpu.index,
        one.pids.empty() ? std::string("–") : fmt::format("{}", fmt::join(one.pids, ", "))));
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string percent_of(const std::map<std::string, double>& values, const char* name) {
  const auto found = values.find(name);
  return found == values.end() ? "–" : fmt::format("{:.0f}", found->second * 100);
}

}  // namespace

std::vector<MetricDef> watch_metrics() {
  const auto higher = Better::higher;
  return {
      {"gpu_utilisation", "share", higher, "of the time a kernel ran, as nvidia-smi says"},
      {"sm_active", "share", higher, "of the SMs, with work"},
      {"sm_occupancy", "share", higher, "of the warps that fit, active"},
      {"tensor_active", "share", higher, "of the time, tensor cores"},
      {"fp64_active", "share", higher, "of the time, FP64 units"},
      {"fp32_active", "share", higher, "of the time, FP32 units"},
      {"fp16_active", "share", higher, "of the time, FP16 units"},
      {"integer_active", "share", higher, "of the time, integer units"},
      {"dram_active", "share", higher, "of the device memory's rate"},
      {"pcie_sent_bytes_per_second", "bytes_per_second", higher, "by the GPU"},
      {"pcie_received_bytes_per_second", "bytes_per_second", higher, "by the GPU"},
      {"nvlink_sent_bytes_per_second", "bytes_per_second", higher, "over all links"},
      {"nvlink_received_bytes_per_second", "bytes_per_second", higher, "over all links"},
      {"watts", "watts", Better::lower, "of the GPU"},
      {"clock_hertz", "hertz", higher, "of the SMs"},
      {"temperature_celsius", "celsius", Better::lower, "of the GPU"},
  };
}

std::vector<nvml::Gpu> watched_gpus(const std::vector<GpuProcesses>& all,
                                    const std::set<int>& indices, const std::set<int>& family,
                                    int pid) {
  std::vector<nvml::Gpu> out;
  for (const GpuProcesses& one : all) {
    if (!indices.empty() && !indices.contains(static_cast<int>(one.gpu.index))) continue;
    const bool used =
        std::ranges::any_of(one.pids, [&](int user) { return family.contains(user); });
    if (family.empty() || used) out.push_back(one.gpu);
  }
  for (const int index : indices) {
    if (std::ranges::none_of(all, [&](const GpuProcesses& one) {
          return one.gpu.index == static_cast<unsigned>(index);
        }))
      throw Error(said("watch.no_gpu", index, all.size()));
  }
  if (out.empty() && !family.empty())
    throw Error(said("watch.no_gpu_of_process", pid, processes_text(all)));
  return out;
}

void WatchedGpu::add(const GpuWindow& window) {
  last_ = window.units ? window.units->values : std::map<std::string, double>();
  if (!window.utilisation.empty()) last_["gpu_utilisation"] = window.utilisation.summary().mean;
  if (const auto watts = window.mean_watts()) last_["watts"] = *watts;
  if (!window.clock_hertz.empty()) last_["clock_hertz"] = window.clock_hertz.summary().mean;
  if (!window.temperature_celsius.empty())
    last_["temperature_celsius"] = window.temperature_celsius.summary().mean;
  for (const auto& [name, value] : last_) values_[name].add(value);
  no_units_ = window.no_units;
  for (const auto& [name, share] : window.impossible) impossible_[name] = share;
  rates_.nvlink = window.nvlink_bytes_per_second;
  if (window.pcie_generation && window.pcie_lanes)
    rates_.pcie = pcie_bytes_per_second(static_cast<int>(*window.pcie_generation),
                                        static_cast<int>(*window.pcie_lanes));
}

void WatchedGpu::report(Record& record, const std::string& host) const {
  const Entity entity{host, "gpu", std::to_string(gpu_.index)};
  const size_t place = record.entity(entity);
  std::map<std::string, double> means;
  for (const MetricDef& def : watch_metrics()) {
    const auto found = values_.find(def.name);
    if (found == values_.end()) continue;
    means[def.name] = found->second.summary().mean;
    record.add(def.name, place, found->second);
  }
  const Said sentence = activity_sentence(gpu_activity(means, rates_));
  if (!sentence.empty()) record.notes.push_back(said("activity.of", entity_name(entity), sentence));
  if (!no_units_.empty())
    record.notes.push_back(said("activity.absent", entity_name(entity), no_units_));
  for (const auto& [name, share] : impossible_)
    record.notes.push_back(
        said("watch.impossible", entity_name(entity), name, fmt::format("{:.0f}", share * 100)));
}

std::string WatchedGpu::latest() const {
  return fmt::format("{}/{}/{}/{}", percent_of(last_, "gpu_utilisation"),
                     percent_of(last_, "sm_active"), percent_of(last_, "tensor_active"),
                     percent_of(last_, "dram_active"));
}

}  // namespace cb
