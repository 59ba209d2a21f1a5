#pragma once

#include <optional>
#include <string>

#include "bench/network/verbs/connect.h"
#include "bench/network/verbs/wait.h"
#include "sys/net/rdma_buffer.h"

namespace cb::verbs {

// A message between the two ends of a transfer, beside the transfer.
struct Message {
  enum Kind : uint32_t { ready = 1, done = 2, failed = 3 };
  uint32_t kind = 0;
  uint32_t reserved = 0;
  uint64_t messages = 0;  // messages sent or received
  uint64_t fewest = 0;    // of a stream: sent by the queue pair that sent fewest, so far
  double seconds = 0;     // first post to last completion
  char text[224] = {};    // text of a failure
};

// A reliable connection beside the measured one. A wait for a message sleeps, so that the passive
// end of a transfer takes no processor from it. No figure includes this connection.
class Control {
 public:
  Control(const Device& device, const Spec& spec);
  uint32_t number() const { return qp_->qp_num; }
  void connect(const Device& device, const Spec& spec, const Address& mine, const Address& peer,
               const Path& path);

  // Throws Error if the connection is broken.
  void send(const Message& message);
  std::optional<Message> try_receive();
  // Sleeps until a message comes. Throws Error past the deadline or when the connection breaks.
  Message wait(const Idle& idle);
  // Returns after both ends have called it.
  void barrier(const Idle& idle);

 private:
  static constexpr uint32_t kSlots = 16;
  void post_receive(uint32_t slot);
  ibv_sge piece(uint32_t slot) const;

  std::string peer_;
  DeviceBuffer buffer_;
  MrPtr memory_;
  ChannelPtr channel_;
  CqPtr cq_;
  QpPtr qp_;
  uint32_t sent_ = 0;
};

}  // namespace cb::verbs
