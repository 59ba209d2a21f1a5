// Many management datagrams in flight: a window over all, a limit for each destination, a deadline
// and a number of tries for each question.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/fabric/mad.h"

namespace cb::net {

struct MadArrival {
  Mad mad = {};
  bool timed_out = false;  // no answer came: the question is back
};

// By what datagrams go; a test brings its own.
class MadWire {
 public:
  virtual ~MadWire() = default;
  virtual void send(const MadQuestion& question, const Mad& mad, int timeout_ms) = 0;
  virtual std::optional<MadArrival> receive(int wait_ms) = 0;
};

struct MadLimits {
  int timeout_ms = 200;         // of one try
  int tries = 8;                // of one question
  double total_seconds = 600;   // of everything; what is left then is unanswered
  size_t window = 8;            // at the beginning
  size_t largest_window = 64;   // grows by one every 64 answers, halves when one stays out
  size_t per_destination = 16;  // switches answer one question after the other
};

struct MadTally {
  uint64_t sent = 0, answered = 0, timed_out = 0, refused = 0;
  double seconds = 0;
};

// Of a question without an answer `why` says what was waited for; with `refused` the device
// answered with an error, which is `status`.
struct MadAnswer {
  std::optional<Mad> mad;
  std::string why;
  bool refused = false;
  uint16_t status = 0;
};
using OnMadAnswer = std::function<void(const MadAnswer&)>;

class MadExchange {
 public:
  // `alive` is called while it waits; what it throws ends run().
  MadExchange(MadWire& wire, MadLimits limits, std::function<void()> alive)
      : wire_(wire),
        limits_(limits),
        alive_(std::move(alive)),
        window_(static_cast<double>(limits.window)) {}

  void ask(MadQuestion question, OnMadAnswer then);
  // Until every question has its answer, also those that answers lead to.
  void run();
  const MadTally& tally() const { return tally_; }

 private:
  using Clock = std::chrono::steady_clock;
  struct Pending {
    MadQuestion question;
    OnMadAnswer then;
    int tries = 0;
    size_t destination = 0;
  };
  struct Destination {
    std::deque<Pending> waiting;
    size_t in_flight = 0;
    bool ready = false;  // stands in ready_
  };
  struct InFlight {
    Pending pending;
    Clock::time_point deadline;
  };

  size_t destination_of(const MadQuestion& question);
  void make_ready(size_t destination);
  void fill_window();
  void send(Pending pending);
  void take(const MadArrival& arrival);
  void expire();
  void missed(Pending pending);
  void give_up();

  MadWire& wire_;
  MadLimits limits_;
  std::function<void()> alive_;
  double window_ = 0;
  uint32_t last_ = 0;
  std::map<std::string, size_t> by_path_;  // a path as text: GCC 12 warns of vectors compared
  std::map<uint16_t, size_t> by_lid_;
  std::vector<Destination> destinations_;
  std::deque<size_t> ready_;
  std::unordered_map<uint32_t, InFlight> in_flight_;
  std::deque<uint32_t> by_age_;  // of in_flight_, the oldest first; answered ones stay until then
  MadTally tally_;
};

}  // namespace cb::net
