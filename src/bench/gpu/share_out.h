#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace cb {

// What one rank sees: its host, and the GPUs that CUDA shows it, by uuid.
struct RankGpus {
  std::string host;
  std::vector<std::string> uuids;
};

// Which GPUs each rank drives: every GPU of a host exactly one of the host's ranks that see it,
// each time the one that has fewest, so that a launcher that shows each rank one GPU and one that
// shows all to all lead to the same. O(ranks × GPUs).
std::vector<std::vector<std::string>> share_out_gpus(const std::vector<RankGpus>& ranks);

// Sets of buffers to go round, so that no product finds its operands in the cache: at least two,
// and together twice the second-level cache (CUTLASS's measuring guide), as far as `free_bytes`
// goes; 1 where not even two fit, 0 where not one does.
int64_t rotation_sets(int64_t bytes_per_set, int64_t l2_bytes, int64_t free_bytes);

// Index of the candidate whose median time is least; candidates without a time (the library
// refused) are passed over; -1 if none has one.
int fastest(std::span<const std::vector<double>> times);

// How many repetitions of something that takes `seconds` fill `wanted_seconds`: 1 to `most`.
int64_t repetitions(double seconds, double wanted_seconds, int64_t most);

}  // namespace cb
