#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sys/os/fs_root.h"

// RDMA devices as /sys shows them. Never calls libibverbs, so that tests can use composed trees.
namespace cb {

enum class RoceVersion { none, v1, v2 };  // none: InfiniBand

struct RdmaGid {
  int index = 0;
  std::array<uint8_t, 16> bytes = {};
  RoceVersion roce = RoceVersion::none;
  std::string netdev = {};

  bool is_ipv4() const;        // ::ffff:a.b.c.d
  bool is_link_local() const;  // fe80::/10 or 169.254/16
};

struct RdmaPort {
  std::string device;  // "mlx5_0"
  int port = 1;
  std::string link_layer = {};                        // "InfiniBand" or "Ethernet"
  std::string state = {};                             // "ACTIVE"
  std::string physical_state = {};                    // "LinkUp"
  std::optional<double> signal_bits_per_second = {};  // rate in /sys; absent unless active
  std::string link = {};                              // "4X NDR"
  std::string driver = {};  // the PCI function's ("mlx5_core"); "rxe" if there is none
  std::string netdev = {};
  std::optional<std::string> pci_address = {};
  std::optional<int> numa_node = {};
  std::optional<int> pcie_generation = {};  // as negotiated now
  std::optional<int> pcie_lanes = {};
  std::optional<int> pcie_max_generation = {};  // what the NIC was built for
  std::optional<int> pcie_max_lanes = {};
  std::vector<RdmaGid> gids = {};

  bool ethernet() const { return link_layer == "Ethernet"; }
  bool active() const { return state == "ACTIVE"; }
  std::string name() const;  // "mlx5_0", or "mlx5_0:2" for a port beyond the first
  std::string directory() const;
};

// Returns every port of every device, by PCI address, then by name: the same position means the
// same slot on equal hosts. Devices without a PCI function (soft-RoCE) come last.
std::vector<RdmaPort> rdma_ports(const FsRoot& fs);

// Parses "fe80:0000:…" into 16 bytes; nothing if malformed.
std::optional<std::array<uint8_t, 16>> parse_gid(std::string_view text);

// Returns how well a GID works between hosts; negative: not at all. RoCE v2 is better than v1,
// IPv4-mapped than IPv6, routable than link-local, and a GID of `netdev` than others.
int gid_score(const RdmaGid& gid, const std::string& netdev);

// Returns the best GID of a RoCE port, the first of equals; for InfiniBand the first GID. Null if
// the port has none.
const RdmaGid* best_gid(const RdmaPort& port);

}  // namespace cb
