// Which completion tells why a queue pair ended, over scripted completion queues.
#include "bench/network/verbs/completion.h"

#include <vector>

#include <doctest/doctest.h>

using namespace cb;
using namespace cb::verbs;

namespace {

ibv_wc completion(uint32_t pair, ibv_wc_status status) {
  ibv_wc out{};
  out.qp_num = pair;
  out.status = status;
  return out;
}

// Gives its completions one after the other, the last one again and again if `endless`.
class ScriptedQueue {
 public:
  explicit ScriptedQueue(std::vector<ibv_wc> script, bool endless = false)
      : script_(std::move(script)), endless_(endless) {
    context_.ops.poll_cq = poll;
    queue_.context = &context_;
    queue_.cq_context = this;
  }
  ibv_cq* get() { return &queue_; }
  int polls() const { return polls_; }
  size_t left() const { return script_.size() - next_; }

 private:
  static int poll(ibv_cq* queue, int, ibv_wc* out) {
    auto& self = *static_cast<ScriptedQueue*>(queue->cq_context);
    ++self.polls_;
    if (self.next_ == self.script_.size() && self.endless_) --self.next_;
    if (self.next_ == self.script_.size()) return 0;
    *out = self.script_[self.next_++];
    return 1;
  }

  std::vector<ibv_wc> script_;
  bool endless_;
  ibv_context context_{};
  ibv_cq queue_{};
  size_t next_ = 0;
  int polls_ = 0;
};

const ibv_wc kFlush = completion(7, IBV_WC_WR_FLUSH_ERR);

}  // namespace

TEST_CASE("an error that is no flush is the cause, and nothing more is taken") {
  ScriptedQueue queue({completion(7, IBV_WC_REM_ACCESS_ERR)});
  const std::vector<ibv_cq*> queues{queue.get()};
  const Cause cause = find_cause(completion(7, IBV_WC_RETRY_EXC_ERR), queues);
  CHECK(cause.delivered);
  CHECK(cause.completion.status == IBV_WC_RETRY_EXC_ERR);
  CHECK(queue.polls() == 0);
  CHECK(describe(cause, nullptr).find("transport retry counter exceeded") == 0);
}

TEST_CASE("behind a flush the first other error of the same queue pair is found") {
  ScriptedQueue mine({kFlush, kFlush});
  ScriptedQueue other({completion(7, IBV_WC_SUCCESS), completion(8, IBV_WC_REM_ACCESS_ERR), kFlush,
                       completion(7, IBV_WC_RNR_RETRY_EXC_ERR), completion(7, IBV_WC_FATAL_ERR)});
  const std::vector<ibv_cq*> queues{mine.get(), other.get()};
  const Cause cause = find_cause(kFlush, queues);
  CHECK(cause.delivered);
  CHECK(cause.completion.status == IBV_WC_RNR_RETRY_EXC_ERR);
  CHECK(other.left() == 1);
}

TEST_CASE("where only flushes come, or another queue pair's error, the cause was not delivered") {
  ScriptedQueue flushes({kFlush, kFlush, completion(8, IBV_WC_RETRY_EXC_ERR)});
  ScriptedQueue empty({});
  const std::vector<ibv_cq*> queues{flushes.get(), empty.get()};
  const Cause cause = find_cause(kFlush, queues, 0.001);
  CHECK(!cause.delivered);
  CHECK(cause.completion.status == IBV_WC_WR_FLUSH_ERR);
  CHECK(flushes.left() == 0);
}

TEST_CASE("a queue that never runs dry is not taken from for ever") {
  ScriptedQueue queue({kFlush}, true);
  const std::vector<ibv_cq*> queues{queue.get()};
  CHECK(!find_cause(kFlush, queues, 0.001).delivered);
}
