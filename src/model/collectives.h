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
  gather,
  scatter,
  alltoallv,
  // Our own; nccl-tests does not have them. Rank i works with rank i + n/2, all pairs at once.
  pingpong,
  pair_one_way,  // the lower half sends
  pair_two_way   // both halves send at once
};

const std::vector<std::string>& collective_names();
const char* collective_name(Collective collective);
// Throws Error for a name that is not in collective_names().
Collective collective_of(std::string_view name);

bool reduces(Collective collective);
// True for the three of which rank i works with rank i + n/2 only.
bool is_pairwise(Collective collective);
// True if it can work in place.
bool has_in_place(Collective collective);

// Elements and bytes of one call.
struct CollectiveSize {
  uint64_t block = 0;  // elements that one rank gives to one rank (the count of the MPI call)
  uint64_t send = 0;   // elements of a rank's send buffer
  uint64_t receive = 0;
  uint64_t bytes = 0;  // S of the bandwidth formulas; at most the size asked for
};

// Returns what a call over `ranks` ranks moves for a size of `bytes` with elements of
// `element_bytes`. all_gather, reduce_scatter, alltoall, gather, scatter: `bytes` is the total over
// ranks, and each rank's block is rounded down to a multiple of 16 bytes. alltoallv: `bytes` is the
// most that any rank sends or receives. All others: `bytes` is the size of one buffer. Nothing if
// not even one block fits.
std::optional<CollectiveSize> collective_size(Collective collective, uint64_t bytes,
                                              uint64_t element_bytes, uint64_t ranks);

// Returns the smallest size for which collective_size() returns something.
uint64_t least_bytes(Collective collective, uint64_t element_bytes, uint64_t ranks);

// Returns the number of elements that rank `from` sends to rank `to` in alltoallv: half a block,
// one block, or one and a half, by (from + to) mod 3. So every rank has all three, and the matrix
// is symmetric.
uint64_t alltoallv_count(uint64_t block, uint64_t from, uint64_t to);

// Returns bus bandwidth over algorithm bandwidth: all_reduce 2(n-1)/n; all_gather, reduce_scatter,
// alltoall, alltoallv, gather and scatter (n-1)/n; else 1. Throws Error for zero ranks, which is a
// programming error.
double bus_factor(Collective collective, uint64_t ranks);

// S / t in bytes per second.
double algorithm_bandwidth(const CollectiveSize& size, double seconds);

// A size with a lower bandwidth than the next smaller size.
struct SizeDip {
  size_t index = 0;  // index of the larger size
  double share = 1;  // its bandwidth over that of the smaller size
};

// Finds sizes whose bandwidth is below `least` times that of the size before; `bandwidths` is in
// ascending order of sizes. A change of protocol or algorithm shows like this without any baseline.
std::vector<SizeDip> find_size_dips(const std::vector<double>& bandwidths, double least = 0.95);

}  // namespace cb
