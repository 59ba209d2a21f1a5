#include "bench/training/cuda/device_queue.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/units.h"
#include "sys/gpu/cuda/cublaslt.h"

namespace cb::training {
namespace {

// A stream takes about a thousand launches; a product may be several.
constexpr int kMostQueued = 250;
constexpr size_t kMostMarks = 200;
constexpr size_t kAnswerBytes = size_t{64} << 10;
constexpr double kExchangeSeconds = 60;  // more than an exchange may take longer

}  // namespace

// Giving it back may wait for a device that is lost.
DeviceQueue::~DeviceQueue() {
  if (answers_ && !idle()) static_cast<void>(answers_.release());
}

cuda::Event& DeviceQueue::next_event() {
  if (events_used_ == events_.size()) events_.emplace_back();
  return events_[events_used_++];
}

void DeviceQueue::begin(Work work) {
  if (recording_) return;  // its time is the whole launch's
  if (!marks_.empty() && marks_.back().work == work) return;
  if (marks_.size() >= kMostMarks) wait();
  attempt([&] { mark(work); });
}

void DeviceQueue::mark(Work work) {
  cuda::Event& at = next_event();
  at.record(stream_);
  ++queued_in_all_;
  marks_.push_back({&at, work});
}

void DeviceQueue::launched(int code, const char* kernel) {
  attempt([&] { cuda::check_launch(code, kernel); });
  counted();
}

void DeviceQueue::queue(const std::function<void()>& call) {
  attempt(call);
  counted();
}

void DeviceQueue::attempt(const std::function<void()>& call) {
  try {
    call();
  } catch (const cublaslt::Unsupported&) {
    throw;
  } catch (const cuda::OutOfMemory&) {
    throw;
  } catch (const Error&) {
    lost_ = !recording_;
    throw;
  }
}

void DeviceQueue::record(cuda::Graph& graph, const std::function<void()>& work) {
  wait();
  cuda::Graph::begin(stream_);
  recording_ = true;
  try {
    work();
    graph.end(stream_);
  } catch (...) {
    recording_ = false;
    cuda::Graph::abandon(stream_);
    throw;
  }
  recording_ = false;
  has_recorded_ = true;
}

void DeviceQueue::launch(const cuda::Graph& graph) {
  begin(Work::matmul);
  if (before_launch_) before_launch_();
  queue([&] { graph.launch(stream_); });
  if (behind_launch_) behind_launch_();
}

// Who exchanges has a longer limit, which tells with whom.
void DeviceQueue::spin(const cuda::Event& event) const {
  try {
    return event.spin(deadline_seconds_, what_, look_);
  } catch (const Error& e) {
    if (e.code() != ExitCode::deadline || !exchanging_ || !exchanging_()) throw;
  }
  event.spin(deadline_seconds_ + kExchangeSeconds, what_, look_);
}

void DeviceQueue::counted() {
  ++queued_in_all_;
  if (recording_) return;
  if (++queued_ < kMostQueued) return;
  const Work work = marks_.empty() ? Work::elementwise : marks_.back().work;
  wait();
  begin(work);
}

void DeviceQueue::wait() {
  if (lost_) throw Error("the GPU was lost before");
  if (recording_) throw Error("a wait cannot be recorded");
  if (marks_.empty() && queued_ == 0) return;
  attempt([&] {
    mark(Work::communication);  // the kind of nothing
    spin(*marks_.back().at);
    settle();
  });
}

void DeviceQueue::settle() {
  for (size_t i = 0; i + 1 < marks_.size(); ++i) {
    const double seconds = marks_[i + 1].at->seconds_since(*marks_[i].at);
    seconds_[marks_[i].work] += seconds;
    if (marks_[i].work == Work::communication) waited_seconds_ += seconds;
  }
  marks_.clear();
  events_used_ = 0;
  queued_ = 0;
}

// The host lacks it, not the GPU.
void DeviceQueue::make_room_for_answers() {
  try {
    attempt([&] { answers_ = std::make_unique<cuda::HostMemory>(kAnswerBytes, true); });
  } catch (const cuda::OutOfMemory& e) {
    throw Error(said("gpu.pinned_full", format_value(kAnswerBytes, "bytes"), e.said()));
  }
}

void DeviceQueue::fetch(void* to, const void* from, size_t bytes) {
  if (bytes <= kAnswerBytes) {
    if (!answers_) make_room_for_answers();
    queue([&] { cuda::copy(answers_->data(), from, bytes, stream_); });
    wait();
    std::memcpy(to, answers_->data(), bytes);
    return;
  }
  wait();  // a copy to ordinary memory would wait within the driver
  queue([&] { cuda::copy(to, from, bytes, stream_); });
  wait();
}

bool DeviceQueue::reached(const cuda::Event& event) {
  bool out = false;
  attempt([&] { out = event.reached(); });
  return out;
}

bool DeviceQueue::idle() noexcept {
  if (lost_) return false;
  try {
    queued_ = std::max(queued_, 1);  // also what the queue does not count, as copies
    wait();
    return true;
  } catch (const std::exception&) {
    cuda::forget_error();
    return false;
  }
}

std::map<Work, double> DeviceQueue::take_seconds() { return std::exchange(seconds_, {}); }

}  // namespace cb::training
