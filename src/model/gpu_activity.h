#pragma once

#include <optional>

#include "core/messages/said.h"

namespace cb {

// What the units of one GPU did over some time: the share of their time, or of the rate that they
// could have had, from 0 to 1. Absent: not known. Names and meaning: NVML's GPM metrics.
struct GpuActivity {
  std::optional<double> utilisation = {};  // time with a kernel running, as nvidia-smi says it
  std::optional<double> sm = {};           // SMs with work
  std::optional<double> occupancy = {};    // warps that were active, of those an SM can hold
  std::optional<double> tensor = {}, fp64 = {}, fp32 = {}, fp16 = {}, integer = {};
  std::optional<double> dram = {};               // device memory's rate
  std::optional<double> pcie = {}, nvlink = {};  // the busier direction, of the link's rate
};

// What limited the GPU.
enum class GpuBound {
  unknown,  // too little is known
  idle,
  memory,
  tensor,
  vector,  // one of the units that are no tensor cores
  nvlink,
  pcie,
  host,             // nothing ran for much of the time: launches, input or another GPU came late
  few_sms,          // kernels ran, but most SMs had no work
  few_sms_or_host,  // most SMs had no work, and whether kernels ran all the time is not known
  latency  // the SMs had work, and no unit was busy: they waited for data or for each other
};

// A unit with at least this share of its time or rate limits. Nsight Compute's speed-of-light rule
// has the same border: below it, it calls a kernel bound by latency.
inline constexpr double kBoundShare = 0.6;
// Less than this share of SMs with work is "likely ineffective use of the GPU" (DCGM's user guide
// on SM activity). The same share of the time without a kernel is the host's.
inline constexpr double kBusyShare = 0.5;
// nvidia-smi's utilisation of a GPU without a job is 0 to a few percent.
inline constexpr double kIdleShare = 0.05;
// Shown as 0 %. One small kernel after the other is 1 % of the SMs of a large GPU.
inline constexpr double kNothingShare = 0.005;

// The unit with the largest share limits if it has kBoundShare; of equal ones the first in the
// enumeration. Else what is missing does: latency where every unit but the links is known not to be
// busy, for a unit that is not known may have been. A utilisation below the share of SMs with work
// is of another time, and is neither used nor told.
GpuBound bound_of(const GpuActivity& activity);

// "utilisation 98 %, SM 97 %, tensor 11 %, DRAM 91 %: bound by memory"; empty if nothing is known.
Said activity_sentence(const GpuActivity& activity);

}  // namespace cb
