#pragma once

#include "bench/harness/case.h"

// One maker per file of src/bench/*/ that ends in _case.cpp; registry.cpp puts them in order.
namespace cb {

Case info_case();
Case preflight_case();
Case mpi_case();
Case moe_cpu_case();
Case moe_gpu_case();
Case kv_transfer_case();
Case nccl_case();
Case overlap_case();
Case locate_case();
Case burn_cpu_case();
Case fake_case();
Case skeleton_case();
Case gemm_cpu_case();
Case bandwidth_cpu_case();
Case io_case();
Case gds_case();
Case gemm_gpu_case();
Case bandwidth_gpu_case();
Case burn_gpu_case();
Case gpu_overhead_case();
Case health_case();
Case events_case();
Case watch_case();
Case verbs_case();
Case nics_case();
Case fabric_case();
Case roce_case();
Case optics_case();
Case drives_case();
Case tcp_case();
Case train_cpu_case();
Case train_gpu_case();
Case infer_cpu_case();
Case infer_gpu_case();
Case external_case();
Case lu_cpu_case();
Case lu_gpu_case();
Case cg_cpu_case();
Case cg_gpu_case();

}  // namespace cb
