#include "model/gpu_activity.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace cb {
namespace {

struct Unit {
  GpuBound bound;
  std::optional<double> share;
};

// In the order of the enumeration.
std::array<Unit, 8> limiting_units(const GpuActivity& a) {
  return {Unit{GpuBound::memory, a.dram}, {GpuBound::tensor, a.tensor},
          {GpuBound::vector, a.fp64},     {GpuBound::vector, a.fp32},
          {GpuBound::vector, a.fp16},     {GpuBound::vector, a.integer},
          {GpuBound::nvlink, a.nvlink},   {GpuBound::pcie, a.pcie}};
}

// The units of the GPU itself. Of links, one that is not there is not busy.
bool all_units_known(const GpuActivity& a) {
  return a.dram && a.tensor && a.fp64 && a.fp32 && a.fp16 && a.integer;
}

// Busy by all that is known: a GPU that copies runs no kernel.
double busiest(const GpuActivity& a) {
  double most = std::max(a.utilisation.value_or(0), a.sm.value_or(0));
  for (const Unit& unit : limiting_units(a)) most = std::max(most, unit.share.value_or(0));
  return most;
}

// A kernel ran at least as long as the mean SM had work. A utilisation below that is of another
// time: NVML tells of up to a second ago.
GpuActivity without_stale(GpuActivity a) {
  constexpr double kRounding = 0.01;  // NVML tells whole percents
  if (a.utilisation && a.sm && *a.utilisation + kRounding < *a.sm) a.utilisation.reset();
  return a;
}

// Without the utilisation a little work may be that of small kernels.
bool idles(const GpuActivity& a) {
  return busiest(a) < (a.utilisation ? kIdleShare : kNothingShare);
}

GpuBound without_work(const GpuActivity& a) {
  if (a.utilisation && *a.utilisation < kBusyShare) return GpuBound::host;
  if (!a.sm) return GpuBound::unknown;
  if (*a.sm < kBusyShare) return a.utilisation ? GpuBound::few_sms : GpuBound::few_sms_or_host;
  return all_units_known(a) ? GpuBound::latency : GpuBound::unknown;
}

const char* bound_key(GpuBound bound) {
  switch (bound) {
    case GpuBound::idle:
      return "activity.idle";
    case GpuBound::memory:
      return "activity.memory";
    case GpuBound::tensor:
      return "activity.tensor_cores";
    case GpuBound::vector:
      return "activity.vector";
    case GpuBound::nvlink:
      return "activity.nvlink_bound";
    case GpuBound::pcie:
      return "activity.pcie_bound";
    case GpuBound::host:
      return "activity.host";
    case GpuBound::few_sms:
      return "activity.few_sms";
    case GpuBound::few_sms_or_host:
      return "activity.few_sms_or_host";
    case GpuBound::latency:
      return "activity.latency";
    case GpuBound::unknown:
      break;
  }
  return "activity.unknown";
}

}  // namespace

GpuBound bound_of(const GpuActivity& told) {
  const GpuActivity a = without_stale(told);
  bool units_known = false;
  Unit top{GpuBound::unknown, 0.0};
  for (const Unit& unit : limiting_units(a)) {
    if (!unit.share) continue;
    units_known = true;
    if (*unit.share > *top.share) top = unit;
  }
  if (!a.utilisation && !a.sm && !units_known) return GpuBound::unknown;
  if (idles(a)) return GpuBound::idle;
  return *top.share >= kBoundShare ? top.bound : without_work(a);
}

Said activity_sentence(const GpuActivity& told) {
  const GpuActivity a = without_stale(told);
  // A unit that is not always told is told where it did something that a reader must know.
  constexpr double kWorthSaying = 0.1;
  const std::array<std::pair<const char*, std::optional<double>>, 4> always{
      {{"activity.utilisation", a.utilisation},
       {"activity.sm", a.sm},
       {"activity.tensor", a.tensor},
       {"activity.dram", a.dram}}};
  const std::array<std::pair<const char*, std::optional<double>>, 6> sometimes{
      {{"activity.fp64", a.fp64},
       {"activity.fp32", a.fp32},
       {"activity.fp16", a.fp16},
       {"activity.integer", a.integer},
       {"activity.nvlink", a.nvlink},
       {"activity.pcie", a.pcie}}};
  std::vector<Said> parts;
  const auto add = [&](const char* key, double share) {
    parts.push_back(said(key, fmt::format("{:.0f}", share * 100)));
  };
  for (const auto& [key, share] : always)
    if (share) add(key, *share);
  for (const auto& [key, share] : sometimes)
    if (share.value_or(0) >= kWorthSaying) add(key, *share);
  if (parts.empty()) return {};
  return said("activity.sentence", said_names(parts), said(bound_key(bound_of(a))));
}

}  // namespace cb
