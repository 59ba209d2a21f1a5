#include "bench/network/verbs/link.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include <fmt/format.h>
#include <poll.h>

namespace cb::verbs {
namespace {

constexpr uint64_t kCacheLine = 64;
constexpr uint64_t kRegion = 4096;
constexpr uint32_t kReceives = 512;
constexpr uint32_t kLatencyInline = 220;

uint64_t rounded(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

uint64_t stride_of(const Spec& spec) {
  return rounded(spec.bytes + (spec.service == Service::ud ? kGrhBytes : 0), kCacheLine);
}

// Latency uses one slot: its last byte tells that a message has arrived.
uint64_t slots_of(const Spec& spec) {
  if (spec.latency) return 1;
  return std::clamp<uint64_t>(kRegion / stride_of(spec), 1, static_cast<uint64_t>(spec.depth));
}

std::unique_ptr<TransferMemory> make_memory(const Device& device, const Spec& spec,
                                            uint64_t bytes) {
  const Registration with{device.pd.get(), spec.relaxed_ordering, device.name()};
  return spec.gpu ? gpu_memory(*spec.gpu, bytes, with)
                  : host_memory(bytes, device.info.numa_node, with);
}

uint32_t random_sequence() { return std::random_device{}() & 0xffffffU; }

}  // namespace

Link::Link(std::shared_ptr<const Device> device, const Spec& spec, bool sends, bool receives,
           std::optional<Regions> regions)
    : device_(std::move(device)),
      spec_(spec),
      gid_(choose_gid(*device_, spec)),
      stride_(stride_of(spec)),
      slots_(slots_of(spec)),
      region_(rounded(stride_ * slots_, kRegion)),
      in_begin_(regions ? rounded(regions->out, kRegion)
                        : region_ * static_cast<uint64_t>(spec.qps)),
      memory_(make_memory(*device_, spec,
                          in_begin_ + (regions ? rounded(regions->in, kRegion) : in_begin_))),
      control_(*device_, spec),
      sequence_(random_sequence()) {
  if (spec_.events) {
    channel_.reset(ibv_create_comp_channel(device_->context.get()));
    if (!channel_) fail("ibv_create_comp_channel", device_->name(), errno);
  }
  make_pairs(sends, receives);
}

// The payload of a latency goes inline if the device takes it, as in perftest; that of a bandwidth
// goes inline only if the user asks. Soft-RoCE accepts inline data but gains nothing.
uint32_t Link::choose_inline(bool sends) const {
  // The processor copies inline data, and it cannot read a GPU's memory.
  if (!sends || is_round_trip(spec_.verb) || spec_.gpu) return 0;
  if (spec_.inline_bytes) return static_cast<uint32_t>(*spec_.inline_bytes);
  return spec_.latency && spec_.bytes <= kLatencyInline ? static_cast<uint32_t>(spec_.bytes) : 0;
}

void Link::make_pairs(bool sends, bool receives) {
  const auto count = static_cast<uint32_t>(spec_.qps);
  const uint32_t depth = sends ? static_cast<uint32_t>(spec_.depth) : 1;
  receive_depth_ =
      receives ? std::min(kReceives, static_cast<uint32_t>(device_->limits.max_cqe) / count) : 1;
  const auto make_cq = [&](uint32_t entries) {
    CqPtr cq(ibv_create_cq(device_->context.get(), static_cast<int>(entries), nullptr,
                           channel_.get(), 0));
    if (!cq) fail("ibv_create_cq", device_->name(), errno, "try less --tx-depth or --qps");
    return cq;
  };
  send_cq_ = make_cq(depth * count);
  receive_cq_ = make_cq(receive_depth_ * count);
  inline_bytes_ = choose_inline(sends);
  const auto make = [&] {
    return make_queue_pair(*device_, spec_, spec_.service, send_cq_.get(), receive_cq_.get(), depth,
                           receive_depth_, inline_bytes_);
  };
  for (uint32_t q = 0; q < count; ++q) {
    try {
      pairs_.push_back(make());
    } catch (const Error&) {
      // The user did not ask for inline data, and some devices take less of it than others.
      if (spec_.inline_bytes || inline_bytes_ == 0) throw;
      inline_bytes_ = 0;
      pairs_.push_back(make());
    }
  }
}

Address Link::address() const {
  Address a{
      .lid = device_->port.lid, .ethernet = device_->info.ethernet(), .name = device_->name()};
  a.global = a.ethernet || spec_.gid_index.has_value();
  if (gid_ != nullptr) a.gid = gid_->bytes;
  a.mtu = spec_.mtu > 0 ? static_cast<uint32_t>(spec_.mtu) : mtu_bytes(device_->port.active_mtu);
  a.sequence = sequence_;
  a.key = memory_->region().rkey;
  a.out = memory_->address();
  a.in = a.out + in_begin_;
  a.reads = device_->limits.max_qp_rd_atom;
  a.control = control_.number();
  for (const QpPtr& qp : pairs_) a.pairs.push_back(qp->qp_num);
  return a;
}

void Link::connect(const Address& peer) {
  const Address mine = address();
  if (peer.ethernet != mine.ethernet)
    throw Error(fmt::format("{} is {} and {} is {}: no path between them", mine.name,
                            mine.ethernet ? "Ethernet" : "InfiniBand", peer.name,
                            peer.ethernet ? "Ethernet" : "InfiniBand"));
  if (peer.pairs.size() != pairs_.size())
    throw Error(fmt::format("{} has {} queue pairs, {} has {}", mine.name, pairs_.size(), peer.name,
                            peer.pairs.size()));
  peer_ = peer;
  path_.mtu = mtu_of(std::min(mine.mtu, peer.mtu));
  path_.gid_index = gid_ != nullptr ? gid_->index : 0;
  const int asked = spec_.outstanding_reads > 0 ? spec_.outstanding_reads : 255;
  path_.reads_out = std::clamp(std::min({mine.reads, peer.reads, asked}), 1, 255);
  path_.reads_in = std::clamp(std::min(mine.reads, peer.reads), 1, 255);
  for (size_t q = 0; q < pairs_.size(); ++q)
    make_ready(pairs_[q].get(), *device_, spec_, spec_.service, mine, peer, peer.pairs[q], path_);
  control_.connect(*device_, spec_, mine, peer, path_);
  if (spec_.service == Service::ud) {
    ibv_ah_attr to = address_of(*device_, spec_, peer, path_);
    handle_.reset(ibv_create_ah(device_->pd.get(), &to));
    if (!handle_) fail("ibv_create_ah", device_->name() + " towards " + peer.name, errno);
  }
}

uint64_t Link::in_offset(size_t q, uint64_t slot) const {
  return in_begin_ + offset(q, slot) + (spec_.service == Service::ud ? kGrhBytes : 0);
}

std::byte* Link::out(size_t q, uint64_t slot) const { return memory_->host() + offset(q, slot); }

std::byte* Link::in(size_t q, uint64_t slot) const { return memory_->host() + in_offset(q, slot); }

uintptr_t Link::out_address(size_t q, uint64_t slot) const {
  return memory_->address() + offset(q, slot);
}

uintptr_t Link::in_address(size_t q, uint64_t slot) const {
  return memory_->address() + in_offset(q, slot);
}

uint64_t Link::peer_out(size_t q, uint64_t slot) const { return peer_.out + offset(q, slot); }
uint64_t Link::peer_in(size_t q, uint64_t slot) const { return peer_.in + offset(q, slot); }

bool Link::wait_event(double seconds) {
  armed_ = !armed_;
  if (armed_) {
    for (ibv_cq* cq : {send_cq_.get(), receive_cq_.get()}) ibv_req_notify_cq(cq, 0);
    return false;
  }
  pollfd ready{channel_->fd, POLLIN, 0};
  if (::poll(&ready, 1, static_cast<int>(std::clamp(seconds, 0.0, 0.1) * 1000) + 1) <= 0)
    return true;
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  if (ibv_get_cq_event(channel_.get(), &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
  return false;
}

}  // namespace cb::verbs
