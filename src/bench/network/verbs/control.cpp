#include "bench/network/verbs/control.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <poll.h>

#include "bench/network/verbs/completion.h"

namespace cb::verbs {

Control::Control(const Device& device, const Spec& spec)
    : buffer_(2 * kSlots * sizeof(Message), device.info.numa_node),
      memory_(
          register_memory(device.pd.get(), buffer_.data(), buffer_.size(), false, device.name())),
      channel_(ibv_create_comp_channel(device.context.get())) {
  if (!channel_) fail("ibv_create_comp_channel", device.name(), errno);
  cq_.reset(ibv_create_cq(device.context.get(), 4 * kSlots, nullptr, channel_.get(), 0));
  if (!cq_) fail("ibv_create_cq", device.name(), errno);
  qp_ = make_queue_pair(device, spec, Service::rc, cq_.get(), cq_.get(), kSlots, kSlots, 0);
  for (uint32_t slot = 0; slot < kSlots; ++slot) post_receive(slot);
}

void Control::connect(const Device& device, const Spec& spec, const Address& mine,
                      const Address& peer, const Path& path) {
  peer_ = peer.name;
  make_ready(qp_.get(), device, spec, Service::rc, mine, peer, peer.control, path);
}

// The buffer of a message. Received ones lie in the first half of the memory, sent ones in the
// second.
ibv_sge Control::piece(uint32_t slot) const {
  return {reinterpret_cast<uintptr_t>(buffer_.data()) + slot * sizeof(Message), sizeof(Message),
          memory_->lkey};
}

void Control::post_receive(uint32_t slot) {
  ibv_sge sge = piece(slot);
  ibv_recv_wr request{}, *bad = nullptr;
  request.wr_id = slot;
  request.sg_list = &sge;
  request.num_sge = 1;
  if (const int rc = ibv_post_recv(qp_.get(), &request, &bad); rc != 0)
    fail("ibv_post_recv", "the control connection to " + peer_, rc);
}

void Control::send(const Message& message) {
  const uint32_t slot = kSlots + sent_++ % kSlots;
  std::memcpy(buffer_.data() + slot * sizeof(Message), &message, sizeof(Message));
  ibv_sge sge = piece(slot);
  ibv_send_wr request{}, *bad = nullptr;
  request.wr_id = slot;
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = IBV_SEND_SIGNALED;
  if (const int rc = ibv_post_send(qp_.get(), &request, &bad); rc != 0)
    fail("ibv_post_send", "the control connection to " + peer_, rc);
}

std::optional<Message> Control::try_receive() {
  ibv_wc wc{};
  while (ibv_poll_cq(cq_.get(), 1, &wc) > 0) {
    if (wc.status != IBV_WC_SUCCESS) {
      const std::array queues{cq_.get()};
      throw Error(fmt::format("{} does not answer: {}", peer_,
                              describe(find_cause(wc, queues), qp_.get())));
    }
    if (wc.opcode != IBV_WC_RECV) continue;
    Message message;
    const auto slot = static_cast<uint32_t>(wc.wr_id);
    std::memcpy(&message, buffer_.data() + slot * sizeof(Message), sizeof(Message));
    message.text[sizeof(message.text) - 1] = '\0';
    post_receive(slot);
    return message;
  }
  return std::nullopt;
}

Message Control::wait(const Idle& idle) {
  constexpr double kLookSeconds = 0.1;  // interval at which to look for a cancelled job
  for (;;) {
    if (auto message = try_receive()) return *message;
    if (const int rc = ibv_req_notify_cq(cq_.get(), 0); rc != 0)
      fail("ibv_req_notify_cq", "the control connection to " + peer_, rc);
    if (auto message = try_receive()) return *message;
    if (idle.cancelled()) throw Error("interrupted");
    if (idle.left() <= 0)
      throw Error(fmt::format("{} has not answered within the deadline", peer_));
    pollfd ready{channel_->fd, POLLIN, 0};
    const double seconds = std::min(kLookSeconds, idle.left());
    if (::poll(&ready, 1, static_cast<int>(seconds * 1000) + 1) <= 0) continue;
    ibv_cq* cq = nullptr;
    void* context = nullptr;
    if (ibv_get_cq_event(channel_.get(), &cq, &context) == 0) ibv_ack_cq_events(cq, 1);
  }
}

void Control::barrier(const Idle& idle) {
  Message message;
  message.kind = Message::ready;
  send(message);
  const Message got = wait(idle);
  if (got.kind == Message::failed) throw Error(fmt::format("{}: {}", peer_, got.text));
  if (got.kind != Message::ready)
    throw Error(fmt::format("{} is out of step (message {})", peer_, got.kind));
}

}  // namespace cb::verbs
