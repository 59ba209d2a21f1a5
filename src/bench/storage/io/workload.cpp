#include "bench/storage/io/workload.h"

#include <algorithm>
#include <map>

namespace cb::io {
namespace {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

struct Setting {
  const char* rw;
  int64_t block_bytes;
  int64_t queue_depth;
  double seconds;  // 0: bounded by size
};

// Checkpoints are written and read once, in large pieces. A data set is read in records of about a
// megabyte (MLPerf Storage, unet3d). A KV cache fetches and stores whole layers' blocks.
const std::map<std::string, Setting>& settings() {
  static const std::map<std::string, Setting> table{
      {"checkpoint-write", {"write", 4 * kMiB, 4, 0}},
      {"checkpoint-read", {"read", 4 * kMiB, 4, 0}},
      {"dataset-read", {"randread", kMiB, 8, 30}},
      {"qd-sweep", {"randread", 4 * kKiB, 128, 5}},
      {"memory-cache", {"randread", kMiB, 8, 10}},
      {"kv-cache", {"randrw", kMiB, 32, 30}},
      {"soak", {"randrw", 64 * kKiB, 16, 600}},
  };
  return table;
}

}  // namespace

std::optional<double> checkpoint_bytes_per_rank(const std::string& model) {
  struct Size {
    double bytes, ranks;
  };
  static const std::map<std::string, Size> sizes{
      {"8B", {105e9, 8}}, {"70B", {912e9, 64}}, {"405B", {5.29e12, 512}}, {"1T", {18e12, 1024}}};
  const auto found = sizes.find(model);
  if (found == sizes.end()) return std::nullopt;
  return found->second.bytes / found->second.ranks;
}

Params with_workload(const Params& params) {
  if (!params.has("workload")) return params;
  const std::string& name = params.text("workload");
  const auto found = settings().find(name);
  if (found == settings().end()) return params;
  const Setting& s = found->second;
  Params out = params;
  out.set("rw", std::string(s.rw));
  out.set("block-size", s.block_bytes);
  out.set("queue-depth", s.queue_depth);
  if (s.seconds == 0) {
    out.erase("duration");
  } else if (!params.has("duration")) {
    out.set("duration", s.seconds);
  }
  if (name == "soak") out.set("verify", true);
  if (params.has("model")) {
    const double bytes = *checkpoint_bytes_per_rank(params.text("model")) * params.number("scale");
    const auto blocks = static_cast<int64_t>(bytes / static_cast<double>(s.block_bytes));
    out.set("size", std::max<int64_t>(1, blocks) * s.block_bytes);
  }
  return out;
}

std::vector<unsigned> queue_depths(const Params& params) {
  const auto most = static_cast<unsigned>(params.integer("queue-depth"));
  if (!params.has("workload") || params.text("workload") != "qd-sweep") return {most};
  std::vector<unsigned> out;
  for (unsigned depth = 1; depth <= most; depth *= 2) out.push_back(depth);
  return out;
}

}  // namespace cb::io
