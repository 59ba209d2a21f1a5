// Reads what the units of a GPU did: NVML's GPM, and the utilisation that nvidia-smi shows.
#include <algorithm>
#include <cmath>
#include <utility>

#include "core/clock.h"
#include "sys/gpu/nvml/ask.h"

namespace cb::nvml {
namespace {

constexpr double kPercent = 0.01, kMebibyte = 1048576;

struct GpmReading {
  unsigned id;
  const char* key;
  double scale;
};
constexpr GpmReading kGpmReadings[] = {
    {abi::kGpmSmUtil, "sm_active", kPercent},
    {abi::kGpmSmOccupancy, "sm_occupancy", kPercent},
    {abi::kGpmAnyTensor, "tensor_active", kPercent},
    {abi::kGpmFp64, "fp64_active", kPercent},
    {abi::kGpmFp32, "fp32_active", kPercent},
    {abi::kGpmFp16, "fp16_active", kPercent},
    {abi::kGpmInteger, "integer_active", kPercent},
    {abi::kGpmDram, "dram_active", kPercent},
    {abi::kGpmPcieSent, "pcie_sent_bytes_per_second", kMebibyte},
    {abi::kGpmPcieReceived, "pcie_received_bytes_per_second", kMebibyte},
    {abi::kGpmNvlinkSent, "nvlink_sent_bytes_per_second", kMebibyte},
    {abi::kGpmNvlinkReceived, "nvlink_received_bytes_per_second", kMebibyte}};

// Counters that were not refreshed between two samples give 0/0.
void take_metric(const Table& t, const GpmReading& wanted, const abi::GpmMetric& metric,
                 Readings& out) {
  if (metric.result != abi::kSuccess)
    out.unavailable[wanted.key] =
        said("said.of", "nvmlGpmMetricsGet", error_text(t, metric.result));
  else if (!std::isfinite(metric.value) || metric.value < 0)
    out.unavailable[wanted.key] = said("gpm.no_number");
  else
    out.values[wanted.key] = metric.value * wanted.scale;
}

}  // namespace

ActivityMeter::ActivityMeter(const Library& library, const Gpu& gpu)
    : table_(library.table_), gpu_(gpu) {
  absent_ = find_out();
  mark();
}

ActivityMeter::~ActivityMeter() {
  for (void* sample : {marked_, other_}) {
    if (sample != nullptr && table_->nvmlGpmSampleFree != nullptr)
      table_->nvmlGpmSampleFree(static_cast<abi::GpmSample>(sample));
  }
}

// A GPU in MIG mode says that it is supported and then refuses each sample.
Said ActivityMeter::find_out() {
  if (!gpu_.unreachable.empty()) return gpu_.unreachable;
  const Asker a(*table_, gpu_);
  const Table& t = *table_;
  if (t.nvmlGpmQueryDeviceSupport == nullptr || t.nvmlGpmSampleGet == nullptr ||
      t.nvmlGpmMetricsGet == nullptr || t.nvmlGpmSampleAlloc == nullptr)
    return said("gpm.old", said("nvml.lacks", "nvmlGpmMetricsGet"));
  unsigned mig = 0, pending = 0;
  if (a.ask("nvmlDeviceGetMigMode", t.nvmlDeviceGetMigMode, &mig, &pending).empty() && mig != 0)
    return said("gpm.mig");
  abi::GpmSupport support{.version = abi::kGpmSupportVersion, .supported = 0};
  Said why = a.ask("nvmlGpmQueryDeviceSupport", t.nvmlGpmQueryDeviceSupport, &support);
  if (why.empty() && support.supported == 0) why = said("gpm.product");
  for (void** sample : {&marked_, &other_}) {
    abi::GpmSample made = nullptr;
    if (why.empty())
      why =
          call(t, static_cast<int>(gpu_.index), "nvmlGpmSampleAlloc", t.nvmlGpmSampleAlloc, &made);
    *sample = made;
  }
  return why;
}

void ActivityMeter::mark() {
  marked_at_ = -1;
  if (!absent_.empty()) return;
  const Said why =
      Asker(*table_, gpu_)
          .ask("nvmlGpmSampleGet", table_->nvmlGpmSampleGet, static_cast<abi::GpmSample>(marked_));
  if (why.empty()) marked_at_ = monotonic_seconds();
}

std::optional<Readings> ActivityMeter::take() {
  if (!absent_.empty()) return std::nullopt;
  if (marked_at_ < 0) {
    mark();
    return std::nullopt;
  }
  if (monotonic_seconds() - marked_at_ < kLeastSeconds) return std::nullopt;
  const Asker a(*table_, gpu_);
  Readings out;
  abi::GpmMetricsGet get{.version = abi::kGpmMetricsGetVersion,
                         .count = std::size(kGpmReadings),
                         .first = static_cast<abi::GpmSample>(marked_),
                         .second = static_cast<abi::GpmSample>(other_),
                         .metrics = {}};
  for (size_t i = 0; i < std::size(kGpmReadings); ++i) get.metrics[i].id = kGpmReadings[i].id;
  Said why = a.ask("nvmlGpmSampleGet", table_->nvmlGpmSampleGet, get.second);
  const double now = monotonic_seconds();
  if (why.empty())
    why = call(*table_, static_cast<int>(gpu_.index), "nvmlGpmMetricsGet",
               table_->nvmlGpmMetricsGet, &get);
  for (size_t i = 0; i < std::size(kGpmReadings); ++i) {
    if (why.empty())
      take_metric(*table_, kGpmReadings[i], get.metrics[i], out);
    else
      out.unavailable[kGpmReadings[i].key] = why;
  }
  std::swap(marked_, other_);
  marked_at_ = why.empty() ? now : -1;
  return out;
}

std::optional<double> Library::utilisation(const Gpu& gpu) const {
  abi::Utilisation now{};
  const Said why =
      Asker(*table_, gpu)
          .ask("nvmlDeviceGetUtilizationRates", table_->nvmlDeviceGetUtilizationRates, &now);
  if (!why.empty()) return std::nullopt;
  return now.gpu * kPercent;
}

// More processes may come between two calls: the list has room for them, and NVML says when it has
// not.
std::optional<std::vector<int>> Library::processes(const Gpu& gpu, Said& why) const {
  constexpr size_t kMost = 4096;
  std::vector<abi::ProcessInfo> list(kMost);
  unsigned count = kMost;
  why = Asker(*table_, gpu)
            .ask("nvmlDeviceGetComputeRunningProcesses_v3",
                 table_->nvmlDeviceGetComputeRunningProcesses_v3, &count, list.data());
  if (!why.empty()) return std::nullopt;
  std::vector<int> out;
  for (size_t i = 0; i < std::min<size_t>(count, kMost); ++i)
    out.push_back(static_cast<int>(list[i].pid));
  return out;
}

}  // namespace cb::nvml
