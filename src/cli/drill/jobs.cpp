#include "cli/drill/jobs.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb {
namespace {

using Words = std::vector<std::string>;

constexpr double kStallSeconds = 5;  // after which the watchdog speaks
constexpr double kGpuSeconds = 12;   // of a burn in which an Xid is reported

// clang-format off
Words all_reduce_job(double seconds) {
  return {"mpi", "--op", "all_reduce", "--size", "64K", "--duration", fmt::format("{}s", seconds)};
}

// What the stand-ins carry: their kernels are computed on the processor.
Words gpu_job(double seconds) {
  return {"burn", "--device", "gpu", "--phase", "hbm", "--size", "128", "--memory-share", "0.05",
          "--duration", fmt::format("{}s", seconds)};
}

Words storage_job(const std::string& directory) {
  return {"io", "--dir", directory, "--rw", "write", "--size", "8M", "--block-size", "1M",
          "--no-direct", "--duration", "1s"};
}
// clang-format on

}  // namespace

bool is_storage(const Drill& drill) { return drill.action == DrillAction::fill; }
bool is_gpu(const Drill& drill) { return drill.action == DrillAction::xid; }

Words short_job(const Drill& drill, const std::string& part) {
  if (is_storage(drill)) return storage_job(part);
  return is_gpu(drill) ? gpu_job(2) : all_reduce_job(2);
}

Words long_job(const Drill& drill, const std::string& part, double seconds) {
  if (is_storage(drill)) return storage_job(part);
  if (is_gpu(drill)) return gpu_job(std::min(kGpuSeconds, seconds));
  Words out = all_reduce_job(seconds);
  for (const std::string& word :
       Words{"--iterations", "10000000", "--stall", fmt::format("{}s", kStallSeconds)})
    out.push_back(word);
  return out;
}

Words locate_job() {
  return {"locate",     "--backend", "mpi",         "--size", "32K",
          "--duration", "150ms",     "--tolerance", "0.25"};
}

}  // namespace cb
