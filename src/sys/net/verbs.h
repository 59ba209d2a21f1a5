#pragma once

#include <infiniband/verbs.h>

#include <memory>
#include <string>

#include "core/error.h"

// The one header through which libibverbs is called. unique_ptrs own the objects. A failed call
// throws Error with the call, the object and the system's reason.
namespace cb::verbs {

struct Destroy {
  void operator()(ibv_context* p) const noexcept { ibv_close_device(p); }
  void operator()(ibv_pd* p) const noexcept { ibv_dealloc_pd(p); }
  void operator()(ibv_mr* p) const noexcept { ibv_dereg_mr(p); }
  void operator()(ibv_cq* p) const noexcept { ibv_destroy_cq(p); }
  void operator()(ibv_qp* p) const noexcept { ibv_destroy_qp(p); }
  void operator()(ibv_ah* p) const noexcept { ibv_destroy_ah(p); }
  void operator()(ibv_comp_channel* p) const noexcept { ibv_destroy_comp_channel(p); }
};
using ContextPtr = std::unique_ptr<ibv_context, Destroy>;
using PdPtr = std::unique_ptr<ibv_pd, Destroy>;
using MrPtr = std::unique_ptr<ibv_mr, Destroy>;
using CqPtr = std::unique_ptr<ibv_cq, Destroy>;
using QpPtr = std::unique_ptr<ibv_qp, Destroy>;
using AhPtr = std::unique_ptr<ibv_ah, Destroy>;
using ChannelPtr = std::unique_ptr<ibv_comp_channel, Destroy>;

// Throws Error "CALL on WHAT: reason"; `hint` says what to do next.
[[noreturn]] void fail(const std::string& call, const std::string& what, int error,
                       const std::string& hint = {});

// Opens the device with that name. Throws Error if there is none or it cannot be opened.
ContextPtr open_device(const std::string& device);

// Converts between an MTU in bytes and its enumerator; 0 for anything else.
uint32_t mtu_bytes(ibv_mtu mtu);
ibv_mtu mtu_of(uint64_t bytes);

// Registers memory for local writing and all remote access. With `relaxed_ordering` the device may
// write out of order (devices that do not know it ignore it). Throws Error, which says so if the
// limit of locked memory is the reason.
MrPtr register_memory(ibv_pd* pd, void* memory, size_t bytes, bool relaxed_ordering,
                      const std::string& what);

// Registers another device's memory, which its driver has exported as a dma-buf; `memory` is its
// address on that device. Throws Error if the NIC's driver cannot do this.
MrPtr register_dma_buf(ibv_pd* pd, int descriptor, const void* memory, size_t bytes,
                       bool relaxed_ordering, const std::string& what);

}  // namespace cb::verbs
