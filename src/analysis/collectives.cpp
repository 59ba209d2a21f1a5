#include "analysis/collectives.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/suggest.h"

namespace cb {

const std::vector<std::string>& collective_names() {
  // In the order of the enumeration.
  static const std::vector<std::string> names{"all_reduce", "all_gather", "reduce_scatter",
                                              "alltoall",   "broadcast",  "reduce",
                                              "sendrecv",   "pingpong"};
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

std::optional<CollectiveSize> collective_size(Collective collective, uint64_t bytes,
                                              uint64_t element_bytes, uint64_t ranks) {
  const uint64_t count = bytes / element_bytes;
  // nccl-tests: base = (count / nranks) & -(16 / element size)
  const uint64_t block = count / ranks / (16 / element_bytes) * (16 / element_bytes);
  CollectiveSize out;
  switch (collective) {
    case Collective::all_gather:
      out = {block, block, block * ranks, block * ranks * element_bytes};
      break;
    case Collective::reduce_scatter:
      out = {block, block * ranks, block, block * ranks * element_bytes};
      break;
    case Collective::alltoall:
      out = {block, block * ranks, block * ranks, block * ranks * element_bytes};
      break;
    default:
      out = {count, count, count, count * element_bytes};
  }
  if (out.block == 0) return std::nullopt;
  return out;
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
      return (n - 1) / n;
    default:
      return 1;
  }
}

double algorithm_bandwidth(const CollectiveSize& size, double seconds) {
  return static_cast<double>(size.bytes) / seconds;
}

}  // namespace cb
