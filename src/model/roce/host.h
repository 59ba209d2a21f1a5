// What one host says of its RoCE ports: as it was read, without judgement.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/messages/said.h"
#include "model/roce/dcb.h"

namespace cb {

struct RocePause {
  bool receive = false, send = false;
};

// Notification points send CNPs, reaction points slow down: priorities for which each is on.
struct RoceEcn {
  unsigned notifies = 0, reacts = 0;
};

struct RoceGid {
  int index = 0;
  bool version_2 = false, ipv4 = false;
};

// One RDMA port on Ethernet. Absent: not read, and `unread` says why ("pfc" → reason).
struct RoceNic {
  std::string host, device, port_name;  // "n1", "mlx5_0", "eth2"
  std::string driver;
  std::optional<Dcb> dcb = {};
  std::string trust = {};  // "dscp", "pcp"; empty: not told
  std::optional<RocePause> pause = {};
  std::optional<RoceEcn> ecn = {};
  std::optional<int> cnp_dscp = {}, cnp_priority = {};
  std::optional<int> mtu_bytes = {};       // of the Ethernet port
  std::optional<int> rdma_mtu_bytes = {};  // that RDMA uses
  std::vector<RoceGid> gids = {};          // those in use
  std::optional<int> forced_class = {};    // traffic class that the driver gives to all traffic
  std::optional<int> connection_tos = {};  // of connections by rdma_cm
  uint32_t address = 0;                    // IPv4, in the order of the host; 0: none
  int prefix_bits = 0;
  std::optional<int> arp_ignore = {}, arp_announce = {}, reverse_filter = {};
  std::optional<LldpNeighbour> neighbour = {};
  std::map<std::string, Said> unread = {};

  std::string name() const { return host + " " + device; }
};

struct RoceHost {
  std::string host;
  std::vector<RoceNic> nics = {};
  std::optional<std::vector<SourceRule>> rules = {};  // of the routing policy; absent: not read
  std::optional<int> nccl_class = {};                 // NCCL_IB_TC
  std::optional<int> nccl_gid = {};                   // NCCL_IB_GID_INDEX
  bool listened = false;                              // for neighbours, or was told them
};

// As text, for the way between ranks. from_text() throws Error for another text.
std::string roce_host_text(const RoceHost& host);
RoceHost roce_host_from_text(const std::string& text);

}  // namespace cb
