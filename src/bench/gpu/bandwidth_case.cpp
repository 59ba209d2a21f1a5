// Copies to, from, within and between GPUs, and the latency of dependent loads. Bytes are those of
// the payload; device-local copy and triad count what is read and what is written, as STREAM does.
// Every byte that a copy moved is compared with the pattern. docs/methods/gpu-bandwidth.md.
#include "bench/cases.h"
#include "bench/gpu/copy_points.h"
#include "bench/gpu/measure.h"
#include "bench/harness/fault.h"
#include "bench/harness/shared_params.h"
#include "core/param_builder.h"

namespace cb {
namespace {

CaseInfo describe() {
  using namespace param;
  return {
      .name = "bandwidth",
      .device = "gpu",
      .summary = "copies to, from, within and between GPUs; device memory bandwidth and latency",
      .example = "clusterbench bandwidth --device gpu --op host_to_device,triad --json b.json",
      .domain = "memory",
      .needs = {.gpu = true},
      .params =
          {device_param("gpu", "whose memory"),
           choice("op", copy_op_names())
               .help("operations; peer_* and peer_latency need two GPUs in one process")
               .by_default("host_to_device,device_to_host,two_way,copy,triad,read,latency")
               .list(),
           choice("memory", {"pinned", "pageable"})
               .help("host memory, of host copies")
               .by_default("pinned")
               .list(),
           choice("engine", {"ce", "sm"})
               .help("engine of peer copies: the copy engines or the SMs (kernel)")
               .by_default("ce")
               .list(),
           choice("numa", {"near", "far"})
               .help("the host memory's node, seen from the GPU")
               .by_default("near")
               .list(),
           flag("one-at-a-time")
               .help("host copies of one GPU while the others idle; else all at once"),
           size("size")
               .help("bytes of a copy; by default 256M for host and peer, 2G device-local")
               .at_least(4096),
           seed_param("of the pattern"),
           duration("warm-up").help("before sampling, at most").by_default("500ms").range(0, 600),
           iterations_param(), sampling_param("2s"),
           fault_param("spoils a byte of what its first GPU moved, to prove that it is seen")},
      .metrics = {{"bytes_per_second", "bytes_per_second", Better::higher,
                   "payload; copy, triad and read count what device memory moves"},
                  {"latency_seconds", "seconds", Better::lower, "of one dependent load"},
                  {"share_of_spec", "share", Better::higher, "of the maker's memory bandwidth"},
                  {"pcie_generation", "count", Better::higher, "of the link, during the copies"},
                  {"pcie_lanes", "count", Better::higher, "of the link, during the copies"}},
      .checks = {"pattern", "gpu"},
      .fault = {.planted = said("fault.gpu_byte"),
                .checks = {"pattern"},
                .brief = {{"iterations", {"1"}}, {"warm-up", {"0s"}}},
                .point_seconds = 2},
  };
}

}  // namespace

Case bandwidth_gpu_case() { return {describe(), measure_gpu_bandwidth, {}, why_no_gpu}; }

}  // namespace cb
