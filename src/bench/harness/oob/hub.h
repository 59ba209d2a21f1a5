#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

#include "bench/harness/oob/channel.h"
#include "bench/harness/oob/frames.h"
#include "bench/harness/oob/keeper.h"
#include "sys/net/reception.h"

namespace cb {

// A state as it goes over the channel, and back. Throws nlohmann's exceptions for foreign bytes.
std::string state_to_text(const WatchState& state);
WatchState state_from_text(const std::string& text);

// What a rank's connection begins with: the job's token and which rank it is.
inline constexpr size_t kTokenBytes = 32;
inline constexpr size_t kGreetingBytes = kTokenBytes + 8;
std::string greeting_of(const std::string& token, int rank);

// Rank 0's end.
class SideHub final : public SideChannel {
 public:
  SideHub(Reception reception, std::string token, const RankMap& place, Watchdog& watchdog,
          const CancelToken& cancel, SideChannelOptions options);
  ~SideHub() override;
  void publish(const Record& record) override;
  bool expired(const WatchState& state) override;
  void close(const std::string& why = {}) override;

 private:
  struct Peer {
    FrameLink link = {};
    RankLink state = RankLink::never;
    WatchState last = {};
    bool told = false;  // has sent a state
    double last_heard = 0;
    double lost_at = 0;  // when its connection was seen to have broken
    std::vector<Record> records = {};
  };
  void loop();
  void tell_all(char kind);
  void say_goodbye();
  void serve(double seconds);
  void welcome(Reception::Arrival arrival);
  bool all_have_come(double now) const;
  void listen_to(Peer& peer);
  void take(Peer& peer, const Frame& f);
  void ping(double now);
  bool look_for_trouble(double now);
  void begin_expiry(double now, const WatchState& expired);
  bool others_wait_for_a_failed_rank(double now);
  void report(JobFailure::Kind kind);
  void keep_finished();
  std::vector<Record> joined_records();
  std::vector<RankState> states(double now);

  Reception reception_;  // until all have come
  double began_;
  double looked_at_ = 0;  // when the connections were last looked at, all at once
  std::string token_;
  std::vector<std::string> host_of_;  // by rank
  Watchdog& watchdog_;
  const CancelToken& cancel_;
  SideChannelOptions options_;
  std::vector<Peer> peers_;  // by rank; [0] is this one
  FinishedKeeper keeper_;
  double last_ping_ = 0;
  double trouble_since_ = 0;  // monotonic seconds; 0: none
  JobFailure::Kind trouble_ = JobFailure::Kind::expired;
  bool heard_told_ = false;
  WatchState expired_ = {};
  double cancelled_since_ = 0;
  bool cancel_told_ = false;

  std::mutex mutex_;  // what other threads hand over
  std::vector<Record> own_records_;
  bool own_expired_ = false;
  WatchState own_state_ = {};
  bool closing_ = false;
  std::thread thread_;
};

}  // namespace cb
