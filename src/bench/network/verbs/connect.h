#pragma once

#include "bench/network/verbs/address.h"
#include "bench/network/verbs/device.h"

namespace cb::verbs {

// What both ends derive from their two addresses.
struct Path {
  ibv_mtu mtu = IBV_MTU_1024;
  int gid_index = 0;
  int reads_out = 1;  // reads and atomics that this end has in flight
  int reads_in = 1;   // reads and atomics that the peer may have in flight
};

constexpr uint32_t kDatagramKey = 0x1ce5eed;  // UD: any value will do, if both ends use it

// Makes a queue pair in state INIT.
QpPtr make_queue_pair(const Device& device, const Spec& spec, Service service, ibv_cq* send,
                      ibv_cq* receive, uint32_t send_depth, uint32_t receive_depth,
                      uint32_t inline_bytes);

// The way to the peer: LID or GID, service level, traffic class.
ibv_ah_attr address_of(const Device& device, const Spec& spec, const Address& peer,
                       const Path& path);

// Moves the queue pair from INIT to RTR to RTS. Throws Error with the state that was refused.
void make_ready(ibv_qp* qp, const Device& device, const Spec& spec, Service service,
                const Address& mine, const Address& peer, uint32_t peer_number, const Path& path);

}  // namespace cb::verbs
