// Pages as point-to-point messages of MPI in host memory, a bounded number of them in flight. All
// messages of a pair have one tag, so they match in the order in which they are posted.
#include <algorithm>
#include <cstring>

#include <sched.h>

#include "bench/collectives/buffer.h"
#include "bench/collectives/kv/layer_acks.h"

namespace cb::kv {
namespace {

constexpr int kPageTag = 71, kAckTag = 72, kReadyTag = 73;

// Requests in the order in which they were posted; the oldest ends first.
class RequestRing {
 public:
  explicit RequestRing(int window) : requests_(static_cast<size_t>(window), MPI_REQUEST_NULL) {}

  bool full() const { return posted_ - completed_ == requests_.size(); }
  uint64_t completed() const { return completed_; }
  MPI_Request* next() { return &requests_[posted_++ % requests_.size()]; }
  // Takes the oldest one out if it has ended.
  bool reap() {
    if (completed_ == posted_ || !is_complete(requests_[completed_ % requests_.size()]))
      return false;
    ++completed_;
    return true;
  }

 private:
  std::vector<MPI_Request> requests_;
  uint64_t posted_ = 0, completed_ = 0;
};

class MpiWire final : public PageWire {
 public:
  MpiWire(const PairEnd& end, uint64_t bytes, uint64_t origin)
      : end_(end), memory_(host_buffer(bytes)), base_(memory_->data() + origin) {}

  std::span<std::byte> memory() override { return {memory_->data(), memory_->bytes()}; }
  std::vector<double> send(const TransferPlan& plan) override;
  void receive(const TransferPlan& plan) override;
  void describe(Record& record) const override { record.facts["library"] = mpi::library_name(); }

 private:
  void copy(const std::vector<Piece>& pieces) const {
    for (const Piece& p : pieces) std::memcpy(base_ + p.to, base_ + p.from, p.bytes);
  }
  void post_send(const Piece& p, MPI_Request* request) const {
    mpi::check(MPI_Isend(base_ + p.from, static_cast<int>(p.bytes), MPI_BYTE, end_.peer, kPageTag,
                         end_.comm, request),
               "MPI_Isend");
  }
  void post_receive(const Piece& p, MPI_Request* request) const {
    mpi::check(MPI_Irecv(base_ + p.to, static_cast<int>(p.bytes), MPI_BYTE, end_.peer, kPageTag,
                         end_.comm, request),
               "MPI_Irecv");
  }

  PairEnd end_;
  std::unique_ptr<CollectiveBuffer> memory_;
  std::byte* base_;
};

std::vector<double> MpiWire::send(const TransferPlan& plan) {
  LayerAcks acks(end_, plan.layers.size(), kAckTag);
  RequestRing ring(end_.window);
  const auto wait_until = [&](auto condition) {
    while (!condition()) {
      const bool acked = acks.poll();
      if (!ring.reap() && !acked) ::sched_yield();
    }
  };
  mpi::check(MPI_Recv(nullptr, 0, MPI_BYTE, end_.peer, kReadyTag, end_.comm, MPI_STATUS_IGNORE),
             "MPI_Recv");
  acks.start();
  for (size_t l = 0; l < plan.layers.size(); ++l) {
    if (plan.staged) wait_until([&] { return acks.came() + 1 >= l; });
    copy(plan.layers[l].gather);
    for (const Piece& p : plan.layers[l].messages) {
      wait_until([&] { return !ring.full(); });
      post_send(p, ring.next());
      acks.poll();
    }
  }
  const uint64_t all = plan.messages();
  wait_until([&] { return acks.all() && ring.completed() == all; });
  return std::move(acks).seconds();
}

void MpiWire::receive(const TransferPlan& plan) {
  RequestRing ring(end_.window);
  std::vector<MPI_Request> acks(plan.layers.size(), MPI_REQUEST_NULL);
  size_t layer = 0, message = 0;  // the next to post
  size_t whole = 0;               // layers that came
  uint64_t whole_at = plan.layers[0].messages.size();
  const auto post_some = [&] {
    while (layer < plan.layers.size() && !ring.full() && (!plan.staged || layer < whole + 2)) {
      post_receive(plan.layers[layer].messages[message], ring.next());
      if (++message < plan.layers[layer].messages.size()) continue;
      message = 0;
      ++layer;
    }
  };
  post_some();
  mpi::check(MPI_Send(nullptr, 0, MPI_BYTE, end_.peer, kReadyTag, end_.comm), "MPI_Send");
  while (whole < plan.layers.size()) {
    if (!ring.reap()) {
      ::sched_yield();
      continue;
    }
    if (ring.completed() == whole_at) {
      copy(plan.layers[whole].scatter);
      mpi::check(MPI_Isend(nullptr, 0, MPI_BYTE, end_.peer, kAckTag, end_.comm, &acks[whole]),
                 "MPI_Isend");
      end_.moved();
      if (++whole < plan.layers.size()) whole_at += plan.layers[whole].messages.size();
    }
    post_some();
  }
  for (MPI_Request& ack : acks) {
    while (!is_complete(ack)) ::sched_yield();
  }
}

}  // namespace

std::unique_ptr<PageWire> make_mpi_wire(const PairEnd& end, uint64_t bytes, uint64_t origin) {
  return std::make_unique<MpiWire>(end, bytes, origin);
}

}  // namespace cb::kv
