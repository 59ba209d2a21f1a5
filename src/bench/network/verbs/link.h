#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/network/verbs/control.h"
#include "bench/network/verbs/memory.h"

namespace cb::verbs {

constexpr uint64_t kGrhBytes = 40;  // bytes in front of every received datagram

// Bytes of the regions, for a caller that places its messages itself.
struct Regions {
  uint64_t out = 0;
  uint64_t in = 0;
};

// One end of a connection to one peer: memory, completion queues, queue pairs. The memory is one
// registered piece. It has two regions for each queue pair: `out` to send from (or for the peer to
// read), and `in` to receive in (or for the peer to write). A region is cut into slots, one for
// each message, which are used in turn; a region of small messages has 4 KiB.
class Link {
 public:
  // Makes the queue pairs. With `regions` all of them share two regions of these sizes, which have
  // no slots. Throws Error if the device cannot.
  Link(std::shared_ptr<const Device> device, const Spec& spec, bool sends, bool receives,
       std::optional<Regions> regions = {});

  Address address() const;
  // Throws Error that names the peer.
  void connect(const Address& peer);

  const Spec& spec() const { return spec_; }
  const Device& device() const { return *device_; }
  Control& control() { return control_; }
  const Address& peer() const { return peer_; }
  ibv_qp* pair(size_t q) const { return pairs_[q].get(); }
  size_t pairs() const { return pairs_.size(); }
  ibv_cq* send_cq() const { return send_cq_.get(); }
  ibv_cq* receive_cq() const { return receive_cq_.get(); }
  ibv_comp_channel* channel() const { return channel_.get(); }
  ibv_ah* handle() const { return handle_.get(); }

  uint64_t slots() const { return slots_; }
  // Addresses as the host sees them. `in` is the message, after a datagram's header.
  std::byte* out(size_t q, uint64_t slot) const;
  std::byte* in(size_t q, uint64_t slot) const;
  // Addresses as the NIC knows them.
  uintptr_t out_address(size_t q, uint64_t slot) const;
  uintptr_t in_address(size_t q, uint64_t slot) const;
  uint64_t peer_out(size_t q, uint64_t slot) const;
  uint64_t peer_in(size_t q, uint64_t slot) const;
  uint32_t key() const { return memory_->region().lkey; }
  uint32_t inline_bytes() const { return inline_bytes_; }
  uint32_t mtu() const { return mtu_bytes(path_.mtu); }
  int gid_index() const { return path_.gid_index; }
  const RdmaGid* gid() const { return gid_; }
  TransferMemory& memory() const { return *memory_; }
  uint32_t receive_depth() const { return receive_depth_; }
  // For an end that sleeps until completions come; the calls alternate. The first call asks to be
  // woken: the caller has to poll once more. The second call sleeps until a completion comes or
  // some time has passed. True if the time has passed: the caller should look around.
  bool wait_event(double seconds);

 private:
  void make_pairs(bool sends, bool receives);
  uint32_t choose_inline(bool sends) const;
  uint64_t offset(size_t q, uint64_t slot) const { return q * region_ + slot * stride_; }
  uint64_t in_offset(size_t q, uint64_t slot) const;

  std::shared_ptr<const Device> device_;
  Spec spec_;
  const RdmaGid* gid_;
  uint64_t stride_, slots_, region_;
  uint64_t in_begin_;  // offset of the `in` regions
  std::unique_ptr<TransferMemory> memory_;
  ChannelPtr channel_;
  CqPtr send_cq_, receive_cq_;
  uint32_t inline_bytes_ = 0;
  uint32_t receive_depth_ = 0;
  std::vector<QpPtr> pairs_;
  Control control_;
  AhPtr handle_;
  Address peer_;
  Path path_;
  uint32_t sequence_ = 0;
  bool armed_ = false;
};

}  // namespace cb::verbs
