// What the host pays for a GPU's work: launches one by one and as a graph, copies of a few bytes,
// allocations. Every launch is counted on the device, every copy and allocation is read back.
// docs/methods/gpu-overhead.md.
#include "bench/cases.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"

namespace cb {
namespace {

CaseInfo describe() {
  using namespace param;
  const auto lower = Better::lower, higher = Better::higher;
  return {
      .name = "gpu-overhead",
      .device = "",
      .summary = "launch latency, graphs against launches, tiny copies, allocation on the GPUs",
      .example = "clusterbench gpu-overhead --op launch,graph --json o.json",
      .domain = "compute",
      .needs = {.gpu = true},
      .params =
          {choice("op", {"launch", "graph", "round_trip", "copy", "allocate"})
               .help("what to time")
               .by_default("launch,graph,round_trip,copy,allocate")
               .list(),
           integer("launches")
               .help("kernels of a sample, one after the other; a graph holds them all")
               .by_default("200")
               .range(1, 500),
           size("size").help("bytes of a copy").by_default("8").range(8, 1048576),
           size("allocation")
               .help("bytes of an allocation")
               .by_default("1M")
               .range(4096, 1073741824),
           duration("warm-up").help("before sampling, at most").by_default("200ms").range(0, 600),
           iterations_param(), sampling_param("500ms"),
           fault_param("loses a launch, or spoils a byte that its first GPU copied or kept, to "
                       "prove that it is seen")},
      .metrics =
          {{"launch_seconds", "seconds", lower, "of the host, for the launch of an empty kernel"},
           {"launch_interval_seconds", "seconds", lower,
            "of the GPU, from one empty kernel's start to the next one's"},
           {"kernels_per_second", "count per second", higher, "one by one, next to empty"},
           {"graph_launch_seconds", "seconds", lower, "of the host, for a whole graph"},
           {"graph_interval_seconds", "seconds", lower,
            "of the GPU, from kernel to kernel of a graph"},
           {"graph_speedup", "ratio", higher, "interval of launches over the interval in a graph"},
           {"round_trip_seconds", "seconds", lower, "of the host, for a launch and its end seen"},
           {"copy_to_device_seconds", "seconds", lower, "pinned memory, until it is done"},
           {"copy_to_host_seconds", "seconds", lower, "pinned memory, until it is done"},
           {"malloc_seconds", "seconds", lower, "of the host, for cudaMalloc"},
           {"free_seconds", "seconds", lower, "of the host, for cudaFree of an idle GPU"},
           {"pool_malloc_seconds", "seconds", lower, "of the host, for cudaMallocAsync"},
           {"pool_free_seconds", "seconds", lower, "of the host, for cudaFreeAsync"}},
      .checks = {"count", "pattern", "gpu"},
      .fault = {.planted = said("fault.gpu_overhead"),
                .checks = {"count", "pattern"},
                .brief = {{"iterations", {"1"}}, {"warm-up", {"0s"}}},
                .point_seconds = 2},
  };
}

}  // namespace

Case gpu_overhead_case() { return {describe(), measure_gpu_overhead, {}, why_no_gpu}; }

}  // namespace cb
