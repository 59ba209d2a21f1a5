#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cb {

// The host of one rank, and the uuids of the GPUs that CUDA shows to the rank.
struct RankGpus {
  std::string host;
  std::vector<std::string> uuids;
};

// The GPUs that each rank drives, by uuid, in the order of `ranks`. Each GPU goes to the rank of
// its host that sees it and has the fewest so far. The result is the same whether a launcher shows
// each rank one GPU or all. O(ranks × GPUs).
std::vector<std::vector<std::string>> assign_gpus(const std::vector<RankGpus>& ranks);

// The number of sets of buffers to use in rotation, so that no product finds its operands in the
// cache. Wanted are two sets or more that together have twice the second-level cache (CUTLASS's
// measuring guide). `free_bytes` limits them: 1 if only one set fits, 0 if none does.
int64_t rotation_sets(int64_t bytes_per_set, int64_t l2_bytes, int64_t free_bytes);

// Index of the candidate with the least median time; -1 if no candidate has a time. A candidate
// without times (the library refused it) is ignored.
int fastest(std::span<const std::vector<double>> times);

// The number of repetitions, 1 to `most`, that fill `wanted_seconds` if one takes `seconds`.
int64_t repetitions(double seconds, double wanted_seconds, int64_t most);

}  // namespace cb
