#include "bench/registry.h"

#include "bench/cases.h"

namespace cb {

const std::vector<Case>& all_cases() {
  // One a line, so that a new case is one line of a difference.
  // clang-format off
  static const std::vector<Case> cases{
      info_case(),
      preflight_case(),
      health_case(),
      watch_case(),
      gemm_cpu_case(),
      gemm_gpu_case(),
      bandwidth_cpu_case(),
      bandwidth_gpu_case(),
      gpu_overhead_case(),
      nccl_case(),
      overlap_case(),
      mpi_case(),
      moe_cpu_case(),
      moe_gpu_case(),
      kv_transfer_case(),
      nics_case(),
      fabric_case(),
      roce_case(),
      optics_case(),
      verbs_case(),
      drives_case(),
      tcp_case(),
      locate_case(),
      io_case(),
      gds_case(),
      train_cpu_case(),
      train_gpu_case(),
      infer_cpu_case(),
      infer_gpu_case(),
      lu_cpu_case(),
      lu_gpu_case(),
      cg_cpu_case(),
      cg_gpu_case(),
      external_case(),
      burn_cpu_case(),
      burn_gpu_case(),
      events_case(),
      fake_case(),
      skeleton_case(),
  };
  // clang-format on
  return cases;
}

Catalogue catalogue() {
  Catalogue out;
  for (const Case& c : all_cases()) out.push_back(c.info);
  return out;
}

const Case* find_case(std::string_view name, std::string_view device) {
  for (const Case& c : all_cases()) {
    if (c.info.name == name && (device.empty() || c.info.device == device)) return &c;
  }
  return nullptr;
}

}  // namespace cb
