#pragma once

#include <mutex>
#include <thread>

#include "bench/harness/oob/channel.h"
#include "bench/harness/oob/frames.h"
#include "sys/net/reception.h"

namespace cb {

// The end of every rank but 0.
class SideSpoke final : public SideChannel {
 public:
  struct Root {
    std::vector<Door> doors;  // in the order in which they are tried
    std::string token;
    std::string host;
  };
  SideSpoke(Root root, int rank, Watchdog& watchdog, SideChannelOptions options);
  ~SideSpoke() override;
  void publish(const Record& record) override;
  bool expired(const WatchState& state) override;
  void close(const std::string& why = {}) override;

 private:
  void loop();
  bool connect();
  bool try_door(const Door& door);
  bool await_welcome(FrameLink& link, double end);
  bool exchange();
  bool closing();

  Root root_;
  int rank_;
  Watchdog& watchdog_;
  SideChannelOptions options_;
  FrameLink link_;
  double last_state_ = 0;
  bool goodbye_heard_ = false;

  std::mutex mutex_;  // what other threads hand over
  std::vector<Frame> waiting_;
  bool connected_ = false;
  double expired_at_ = 0;  // monotonic seconds; 0: not
  bool ending_ = false;
  double last_heard_ = 0;
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace cb
