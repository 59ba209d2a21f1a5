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
  // Ours; nccl-tests has none of them. Rank i and rank i + n/2, all pairs at once.
  pingpong,
  pair_one_way,  // the lower half sends
  pair_two_way   // both send at once
};

const std::vector<std::string>& collective_names();
const char* collective_name(Collective collective);
// Throws Error for a name that is not in collective_names().
Collective collective_of(std::string_view name);

bool reduces(Collective collective);
// Rank i works with rank i + n/2 only, in all three.
bool is_pairwise(Collective collective);
// There is an in-place form of it.
bool has_in_place(Collective collective);

// Elements and bytes of one call.
struct CollectiveSize {
  uint64_t block = 0;  // elements that one rank gives to one rank (the count of the MPI call)
  uint64_t send = 0;   // elements of a rank's send buffer
  uint64_t receive = 0;
  uint64_t bytes = 0;  // S of the bandwidth formulas; at most what was asked for
};

// What a call over `ranks` ranks moves when asked for `bytes` with elements of `element_bytes`.
// all_gather, reduce_scatter, alltoall, gather, scatter: `bytes` is the total over ranks, and each
// rank's block is rounded down to a multiple of 16 bytes; alltoallv: the most that any rank sends
// or receives; the others: of one buffer. Nothing if not even one block fits.
std::optional<CollectiveSize> collective_size(Collective collective, uint64_t bytes,
                                              uint64_t element_bytes, uint64_t ranks);

// The smallest size of which collective_size() makes something.
uint64_t least_bytes(Collective collective, uint64_t element_bytes, uint64_t ranks);

// Elements that rank `from` sends to rank `to` in alltoallv with this block: half a block, one or
// one and a half, by (from + to) mod 3, so that every rank has all three and the matrix is
// symmetric.
uint64_t alltoallv_count(uint64_t block, uint64_t from, uint64_t to);

// Bus bandwidth over algorithm bandwidth: all_reduce 2(n-1)/n; all_gather, reduce_scatter,
// alltoall, alltoallv, gather and scatter (n-1)/n; else 1. Zero ranks is a programming error.
double bus_factor(Collective collective, uint64_t ranks);

// S / t in bytes per second.
double algorithm_bandwidth(const CollectiveSize& size, double seconds);

// A size whose bandwidth is lower than at the next smaller one.
struct SizeDip {
  size_t index = 0;  // of the larger size
  double share = 1;  // of the bandwidth before
};

// Sizes in ascending order with their bandwidths: those that reach less than `least` of the one
// before. A change of protocol or algorithm shows like this without any baseline.
std::vector<SizeDip> find_size_dips(const std::vector<double>& bandwidths, double least = 0.95);

}  // namespace cb
