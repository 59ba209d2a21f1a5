#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/nccl/device.h"
#include "bench/harness/case.h"

namespace cb::nccl {

// One process and what it drives, for the map of ranks.
struct RankDevices {
  std::string host;
  std::vector<std::string> identities;  // of its devices; empty where they may be shared
  std::vector<std::string> names;
  // "mlx5_0 (PIX), mlx5_1 (PIX)" for each device: the RDMA devices nearest to it, all that are
  // equally near; nothing where none is known. May be shorter than `names`.
  std::vector<std::optional<std::string>> nearest_nics = {};
};

// What is wrong with the map: a process without a device, processes with different numbers of them,
// a device that two ranks would use. Every problem names host and rank.
void check_rank_map(const std::vector<RankDevices>& ranks, Problems& problems);

// "rank 0: node01 GPU 0, NVIDIA H200, 0000:0f:00.0, nearest NICs mlx5_0 (PIX)", one line a rank of
// the library; beyond `most` lines only how many more there are.
std::string rank_map_text(const std::vector<RankDevices>& ranks, size_t most);

// "rank 0: mlx5_0 (PIX); rank 1: mlx5_1 (PIX), mlx5_2 (PIX)" of the first `most` ranks of the
// library, without those for which none is known, and how many ranks more there are; nothing where
// none is known for any of the first.
std::optional<std::string> nearest_nics_text(const std::vector<RankDevices>& ranks, size_t most);

// Collective. Every process's part of the map on all of them; `placed` says where this one runs and
// stands behind its devices' names, if it is not empty. The nearest RDMA devices are read from
// /sys.
std::vector<RankDevices> gather_rank_map(Context& context, const Devices& mine,
                                         const std::string& placed);

}  // namespace cb::nccl
