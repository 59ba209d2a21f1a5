#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "model/xid.h"
#include "sys/gpu/nvml.h"
#include "sys/os/fs_root.h"

namespace cb {

// The metrics that `health` records of every GPU and of the host, in the order of the report.
std::vector<MetricDef> health_metrics();

// What NVML tells about one GPU.
struct GpuHealth {
  nvml::Gpu gpu;
  nvml::Readings readings;
};

// What is known about the GPUs of one host.
struct HostHealth {
  std::string host;
  std::vector<GpuHealth> gpus;
  size_t gpus_on_pci = 0;
  // Xids of the kernel log; nothing if the log may not be read: `no_xids` then says why.
  std::optional<std::vector<LoggedXid>> xids = {};
  std::string no_xids = {};
};

// Adds the host's GPUs to the record: a metric for each number that could be read, and a note with
// the reason for each that could not. Judges nothing.
void add_health(Record& record, const HostHealth& health);

// For Case::lacks: why NVML cannot be asked here; empty if it can.
Said nvml_absence(const FsRoot& fs);

}  // namespace cb
