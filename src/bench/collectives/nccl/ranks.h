#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/collectives/nccl/device.h"
#include "bench/harness/case.h"
#include "model/nvlink_domain.h"

namespace cb::nccl {

// One process and its devices, for the map of ranks.
struct RankDevices {
  std::string host;
  std::vector<std::string> identities;  // one per device; empty if the device may be shared
  std::vector<std::string> names;
  // The nearest RDMA devices of each device, all that are equally near: "mlx5_0 (PIX), mlx5_1
  // (PIX)"; nothing if none is known. May be shorter than `names`.
  std::vector<std::optional<std::string>> nearest_nics = {};
  // The NVLink domain of each device, "<cluster's UUID>.<clique>"; empty if it is in none or none
  // is known.
  std::vector<std::string> domains = {};
};

// Adds a problem if a process has no device, if processes have different numbers of devices, or if
// two ranks would use the same device. Every problem names host and rank.
void check_rank_map(const std::vector<RankDevices>& ranks, Problems& problems);

// "rank 0: node01 GPU 0, NVIDIA H200, 0000:0f:00.0, nearest NICs mlx5_0 (PIX)", one entry per rank
// of the library. Beyond `most` ranks it gives only the number of the others.
std::string rank_map_text(const std::vector<RankDevices>& ranks, size_t most);

// "rank 0: mlx5_0 (PIX); rank 1: mlx5_1 (PIX), mlx5_2 (PIX)" for the first `most` ranks of the
// library, and the number of the others. Ranks without a known device are left out; nothing if all
// of the first are.
std::optional<std::string> nearest_nics_text(const std::vector<RankDevices>& ranks, size_t most);

// The domain of each process, if all its devices are in one; else empty.
std::vector<std::string> domain_of_processes(const std::vector<RankDevices>& ranks);

// The hosts in the order of their first process.
std::vector<std::string> host_names(const std::vector<RankDevices>& ranks);

// "9c1e….3: 72 GPUs on 18 hosts; 9c1e….4: 4 GPUs on n7"; empty if no domain is known.
std::string domains_text(const std::vector<DomainCount>& domains,
                         const std::vector<std::string>& hosts);

// Every device of all processes, with its host's place in host_names().
std::vector<DomainSeat> domain_seats(const std::vector<RankDevices>& ranks);

// Collective. Gives every process the map of all processes. If `placed` is not empty, it says where
// this process runs and is appended to its devices' names. The nearest RDMA devices are read from
// /sys.
std::vector<RankDevices> gather_rank_map(Context& context, const Devices& mine,
                                         const std::string& placed);

}  // namespace cb::nccl
