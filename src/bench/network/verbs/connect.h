#pragma once

#include "bench/network/verbs/address.h"
#include "bench/network/verbs/device.h"

namespace cb::verbs {

// What two ends agree on from both addresses.
struct Path {
  ibv_mtu mtu = IBV_MTU_1024;
  int gid_index = 0;
  int reads_out = 1;  // this end has in flight
  int reads_in = 1;   // the peer may have in flight
};

constexpr uint32_t kDatagramKey = 0x1ce5eed;  // UD: any value that both ends use

// A queue pair in state INIT.
QpPtr make_queue_pair(const Device& device, const Spec& spec, Service service, ibv_cq* send,
                      ibv_cq* receive, uint32_t send_depth, uint32_t receive_depth,
                      uint32_t inline_bytes);

// How to reach the peer: LID or GID, service level, traffic class.
ibv_ah_attr address_of(const Device& device, const Spec& spec, const Address& peer,
                       const Path& path);

// INIT → RTR → RTS. Throws Error with the state that was refused.
void make_ready(ibv_qp* qp, const Device& device, const Spec& spec, Service service,
                const Address& mine, const Address& peer, uint32_t peer_number, const Path& path);

}  // namespace cb::verbs
