#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/training/ledger.h"
#include "sys/gpu/cuda/cuda.h"
#include "sys/gpu/cuda/graph.h"

namespace cb::training {

// One stream of the device that was selected when it was made: what is queued there in the order of
// a training step, how long each kind of work took there, and waits with a deadline. Once the
// device has failed or not come to an end in time, it is lost: every later wait throws at once.
class DeviceQueue {
 public:
  // `deadline_seconds`: of a wait for what is queued; `what`: for messages.
  DeviceQueue(double deadline_seconds, std::string what)
      : deadline_seconds_(deadline_seconds), what_(std::move(what)) {}
  ~DeviceQueue();
  DeviceQueue(const DeviceQueue&) = delete;
  DeviceQueue& operator=(const DeviceQueue&) = delete;

  const cuda::Stream& stream() const { return stream_; }
  // What is queued from now on is work of this kind.
  void begin(Work work);
  // Throws Error if `code`, which the launcher of that kernel returned, is not success. Waits now
  // and then, so that no launch has to wait within the driver, where no deadline ends it.
  void launched(int code, const char* kernel);
  // Queues by a call of the library or the runtime; a failure that is not about memory or about
  // what the library can do is the device's.
  void queue(const std::function<void()>& call);
  // Records what `work` queues, and runs nothing of it. Throws Error where the device or the
  // library does not record that; it is not lost by this.
  void record(cuda::Graph& graph, const std::function<void()>& work);
  // Queues what was recorded, as one launch.
  void launch(const cuda::Graph& graph);
  // Bytes of the device that a backend takes for itself, or gives back.
  void took(int64_t bytes) { scratch_bytes_ += bytes; }
  int64_t scratch_bytes() const { return scratch_bytes_; }
  // Launches, products, copies and changes of the kind so far: equal where nothing was queued in
  // between, and nothing of another kind happened.
  uint64_t queued_in_all() const { return queued_in_all_; }
  // Whether memory of what was queued may be read again by what was recorded.
  bool has_recorded() const { return has_recorded_; }
  // Until all that was queued has been computed.
  void wait();
  // Bytes of the device that all that was queued has computed.
  void fetch(void* to, const void* from, size_t bytes);
  // Whether that point of any stream has been reached.
  bool reached(const cuda::Event& event);
  // Other streams of the device work beside this one, which may wait for them: `look` is called
  // while the host waits, and throws where they have failed.
  // `exchanging`: whether the device waits for others there, which have limits of their own.
  void beside(std::function<void()> look, std::function<bool()> exchanging) {
    look_ = std::move(look);
    exchanging_ = std::move(exchanging);
  }
  // What is recorded exchanges with others: called before and behind each launch of it.
  void around_launches(std::function<void()> before, std::function<void()> behind) {
    before_launch_ = std::move(before);
    behind_launch_ = std::move(behind);
  }
  bool recording() const { return recording_; }
  // Nothing more comes to an end there.
  void abandon() { lost_ = true; }
  // Whether nothing is left to do, so that memory can be freed without waiting in the driver.
  bool idle() noexcept;
  bool lost() const { return lost_; }
  // Seconds of each kind since the last call, by the device's clock.
  std::map<Work, double> take_seconds();
  // Of Work::communication, since the begin.
  double waited_seconds() const { return waited_seconds_; }

 private:
  void attempt(const std::function<void()>& call);
  void make_room_for_answers();
  cuda::Event& next_event();
  void mark(Work work);
  void settle();
  void spin(const cuda::Event& event) const;
  void counted();  // one more launch, product or copy

  double deadline_seconds_;
  std::string what_;
  cuda::Stream stream_;
  std::unique_ptr<cuda::HostMemory>
      answers_;  // small ones arrive here: nothing waits in the driver
  // A mark is where work of one kind begins; the last one of a wait is where it ends.
  struct Mark {
    cuda::Event* at;
    Work work;
  };
  std::deque<cuda::Event> events_;  // used again after each wait
  size_t events_used_ = 0;
  std::vector<Mark> marks_;
  int queued_ = 0;  // since the last wait
  uint64_t queued_in_all_ = 0;
  bool lost_ = false;
  bool recording_ = false, has_recorded_ = false;
  double waited_seconds_ = 0;
  int64_t scratch_bytes_ = 0;
  std::map<Work, double> seconds_;
  std::function<void()> look_, before_launch_, behind_launch_;
  std::function<bool()> exchanging_;
};

}  // namespace cb::training
