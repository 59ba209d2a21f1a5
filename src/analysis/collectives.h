#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Names, sizes and bandwidths of collectives as nccl-tests defines them, so that figures compare.
// Source: NVIDIA nccl-tests v2.19.6, doc/PERFORMANCE.md and src/<collective>.cu.
namespace cb {

enum class Collective {
  all_reduce,
  all_gather,
  reduce_scatter,
  alltoall,
  broadcast,
  reduce,
  sendrecv,
  pingpong  // ours: nccl-tests has none
};

const std::vector<std::string>& collective_names();
const char* collective_name(Collective collective);
// Throws Error for a name that is not in collective_names().
Collective collective_of(std::string_view name);

bool reduces(Collective collective);

// Elements and bytes of one call.
struct CollectiveSize {
  uint64_t block = 0;  // elements that one rank gives to one rank (the count of the MPI call)
  uint64_t send = 0;   // elements of a rank's send buffer
  uint64_t receive = 0;
  uint64_t bytes = 0;  // S of the bandwidth formulas; at most what was asked for
};

// What a call over `ranks` ranks moves when asked for `bytes` with elements of `element_bytes`.
// all_gather, reduce_scatter, alltoall: `bytes` is the total over ranks, and each rank's block is
// rounded down to a multiple of 16 bytes; the others: of one buffer. Nothing if not even one block
// fits.
std::optional<CollectiveSize> collective_size(Collective collective, uint64_t bytes,
                                              uint64_t element_bytes, uint64_t ranks);

// Bus bandwidth over algorithm bandwidth: all_reduce 2(n-1)/n, all_gather, reduce_scatter and
// alltoall (n-1)/n, else 1. Zero ranks is a programming error.
double bus_factor(Collective collective, uint64_t ranks);

// S / t in bytes per second.
double algorithm_bandwidth(const CollectiveSize& size, double seconds);

}  // namespace cb
