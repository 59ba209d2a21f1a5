#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "model/xid.h"
#include "sys/gpu/nvml.h"

namespace cb {

// What `health` records of every GPU and of the host, in the order in which it is listed.
std::vector<MetricDef> health_metrics();

// One GPU as NVML told it.
struct GpuHealth {
  nvml::Gpu gpu;
  nvml::Readings readings;
};

// All that is known of one host's GPUs.
struct HostHealth {
  std::string host;
  std::vector<GpuHealth> gpus;
  size_t gpus_on_pci = 0;
  // Of the kernel log; nothing, with the reason, where it may not be read.
  std::optional<std::vector<LoggedXid>> xids = {};
  std::string no_xids = {};
};

// Adds the host's GPUs to the record: a metric for each number that could be read, and for each
// that could not a note with the reason. Judges nothing.
void add_health(Record& record, const HostHealth& health);

// The last part of the kernel's log (/dev/kmsg), or nothing with why.
std::optional<std::string> read_kernel_log(std::string& why);

}  // namespace cb
