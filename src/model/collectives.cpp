#include "model/collectives.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"

namespace cb {

const std::vector<std::string>& collective_names() {
  // In the order of the enumeration.
  static const std::vector<std::string> names{
      "all_reduce", "all_gather",   "reduce_scatter", "alltoall", "broadcast",
      "reduce",     "sendrecv",     "gather",         "scatter",  "alltoallv",
      "pingpong",   "pair_one_way", "pair_two_way"};
  return names;
}

const char* collective_name(Collective collective) {
  return collective_names()[static_cast<size_t>(collective)].c_str();
}

Collective collective_of(std::string_view name) {
  const auto& names = collective_names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) throw Error(unknown_name(name, names));
  return static_cast<Collective>(found - names.begin());
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter ||
         collective == Collective::reduce;
}

bool is_pairwise(Collective collective) {
  return collective == Collective::pingpong || collective == Collective::pair_one_way ||
         collective == Collective::pair_two_way;
}

bool has_in_place(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::all_gather ||
         collective == Collective::reduce_scatter || collective == Collective::alltoall;
}

uint64_t alltoallv_count(uint64_t block, uint64_t from, uint64_t to) {
  return (from + to) % 3 * (block / 2) + block / 2;
}

namespace {

// The rank with the largest sum decides what fits: every rank's buffers have its size.
CollectiveSize alltoallv_size(uint64_t block, uint64_t element_bytes, uint64_t ranks) {
  // The largest count is one and a half times this; half of it is still a multiple of 8 bytes.
  const uint64_t unit = 16 / element_bytes;
  CollectiveSize out{.block = block * 2 / 3 / unit * unit};
  for (uint64_t r = 0; r < std::min<uint64_t>(3, ranks); ++r) {
    uint64_t sum = 0;
    for (uint64_t to = 0; to < ranks; ++to) sum += alltoallv_count(out.block, r, to);
    out.send = std::max(out.send, sum);
  }
  out.receive = out.send;
  out.bytes = out.send * element_bytes;
  return out;
}

}  // namespace

std::optional<CollectiveSize> collective_size(Collective collective, uint64_t bytes,
                                              uint64_t element_bytes, uint64_t ranks) {
  const uint64_t count = bytes / element_bytes;
  // nccl-tests: base = (count / nranks) & -(16 / element size)
  const uint64_t block = count / ranks / (16 / element_bytes) * (16 / element_bytes);
  CollectiveSize out;
  switch (collective) {
    case Collective::all_gather:
    case Collective::gather:
      out = {block, block, block * ranks, block * ranks * element_bytes};
      break;
    case Collective::reduce_scatter:
    case Collective::scatter:
      out = {block, block * ranks, block, block * ranks * element_bytes};
      break;
    case Collective::alltoall:
      out = {block, block * ranks, block * ranks, block * ranks * element_bytes};
      break;
    case Collective::alltoallv:
      out = alltoallv_size(block, element_bytes, ranks);
      break;
    default:
      out = {count, count, count, count * element_bytes};
  }
  if (out.block == 0) return std::nullopt;
  return out;
}

uint64_t least_bytes(Collective collective, uint64_t element_bytes, uint64_t ranks) {
  switch (collective) {
    case Collective::all_gather:
    case Collective::gather:
    case Collective::reduce_scatter:
    case Collective::scatter:
    case Collective::alltoall:
      return 16 * ranks;
    case Collective::alltoallv:
      return 32 * ranks;  // its smallest count is two thirds of a block
    default:
      return element_bytes;
  }
}

double bus_factor(Collective collective, uint64_t ranks) {
  if (ranks == 0) throw Error("a collective has at least one rank");
  const auto n = static_cast<double>(ranks);
  switch (collective) {
    case Collective::all_reduce:
      return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::alltoall:
    case Collective::alltoallv:
    case Collective::gather:
    case Collective::scatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

double algorithm_bandwidth(const CollectiveSize& size, double seconds) {
  return static_cast<double>(size.bytes) / seconds;
}

std::vector<SizeDip> find_size_dips(const std::vector<double>& bandwidths, double least) {
  std::vector<SizeDip> out;
  for (size_t i = 1; i < bandwidths.size(); ++i) {
    const double share = bandwidths[i] / bandwidths[i - 1];
    if (share < least) out.push_back({i, share});
  }
  return out;
}

}  // namespace cb
