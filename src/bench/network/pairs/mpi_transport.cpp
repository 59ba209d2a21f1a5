// Pairs over MPI point-to-point messages in host memory. Every transfer is a small state machine
// that is polled: several transfers run at once, each has a deadline, and no call waits for a peer.
// Bytes count if they arrive after the first tenth of the time. The first and last word of every
// message are compared with what this message of this sender must hold.
#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <sched.h>

#include "bench/network/pairs/room.h"
#include "bench/network/pairs/transports.h"
#include "core/clock.h"
#include "core/stats.h"
#include "kernels/pattern.h"
#include "sys/mpi/mpi.h"

namespace cb {
namespace {

constexpr int kWindow = 8;          // messages in flight
constexpr double kWarmShare = 0.1;  // share of the time that is not counted
constexpr size_t kMaxSamples = 100000;
constexpr uint64_t kTags = 32768;
constexpr double kReapSeconds = 0.02;  // for transfers that did not end in their round

// The buffer and the request of one message.
struct Slot {
  std::vector<std::byte> memory;
  MPI_Request request = MPI_REQUEST_NULL;
  uint64_t sequence = 0;
  bool ending = false;  // its message is empty and ends the transfer
};

// The word that stands at both ends of a message.
uint64_t stamp(uint64_t seed, uint64_t sequence) { return kernels::pattern_word(sequence, seed); }

void write_stamp(std::vector<std::byte>& memory, uint64_t seed, uint64_t sequence) {
  const uint64_t word = stamp(seed, sequence);
  const size_t width = std::min(memory.size(), sizeof word);
  std::memcpy(memory.data(), &word, width);
  std::memcpy(memory.data() + memory.size() - width, &word, width);
}

bool stamp_matches(const std::vector<std::byte>& memory, uint64_t seed, uint64_t sequence) {
  const uint64_t word = stamp(seed, sequence);
  const size_t width = std::min(memory.size(), sizeof word);
  return std::memcmp(memory.data(), &word, width) == 0 &&
         std::memcmp(memory.data() + memory.size() - width, &word, width) == 0;
}

// One direction of one task, from construction to its figure.
class Flow {
 public:
  virtual ~Flow() = default;
  virtual bool poll() = 0;  // true if it has ended
  virtual PairFigure figure() const = 0;
};

struct Line {
  MPI_Comm comm;
  int peer;
  int tag;
  uint64_t bytes;
  double seconds;
  uint64_t seed_out;  // seed of the messages that this rank sends
  uint64_t seed_in;
};

class SendFlow final : public Flow {
 public:
  explicit SendFlow(const Line& line) : line_(line), slots_(kWindow) {
    for (Slot& s : slots_) s.memory.resize(line.bytes);
  }

  bool poll() override {
    if (start_ == 0) {
      start_ = monotonic_seconds();
      for (Slot& s : slots_) post(s);
    }
    for (Slot& s : slots_) {
      if (s.request == MPI_REQUEST_NULL) continue;
      int done = 0;
      mpi::check(MPI_Test(&s.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
      if (done == 0) continue;
      if (s.ending)
        ++ended_;
      else
        post(s);
    }
    return ended_ == kWindow;
  }

  PairFigure figure() const override { return {.value = std::nullopt}; }

 private:
  void post(Slot& s) {
    s.ending = monotonic_seconds() - start_ >= line_.seconds;
    s.sequence = next_++;
    if (!s.ending) write_stamp(s.memory, line_.seed_out, s.sequence);
    mpi::check(MPI_Isend(s.memory.data(), s.ending ? 0 : static_cast<int>(line_.bytes), MPI_BYTE,
                         line_.peer, line_.tag, line_.comm, &s.request),
               "MPI_Isend");
  }

  Line line_;
  std::vector<Slot> slots_;
  double start_ = 0;
  uint64_t next_ = 0;
  int ended_ = 0;
};

class ReceiveFlow final : public Flow {
 public:
  explicit ReceiveFlow(const Line& line) : line_(line), slots_(kWindow) {
    for (Slot& s : slots_) s.memory.resize(line.bytes);
    begun_ = monotonic_seconds();
    for (Slot& s : slots_) post(s);  // where the sender was first, MPI copies its message here
  }

  // Completes slots in the order in which they were posted, which is the order of the messages.
  bool poll() override {
    ++look_;
    for (int i = 0; i < kWindow; ++i) {
      Slot& s = slots_[oldest_];
      if (s.request == MPI_REQUEST_NULL) break;
      int done = 0;
      MPI_Status status;
      mpi::check(MPI_Test(&s.request, &done, &status), "MPI_Test");
      if (done == 0) break;
      int count = 0;
      mpi::check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
      oldest_ = (oldest_ + 1) % slots_.size();
      if (count == 0)
        ++ended_;
      else
        take(s);
    }
    return ended_ == kWindow;
  }

  PairFigure figure() const override {
    if (wrong_ > 0) return {std::nullopt, said("locate.wrong_messages", wrong_)};
    if (warm_.messages >= 2) return {rate_of(warm_)};
    if (all_.messages >= 1) return {rate_of(all_)};
    // All at one look: none was in its buffer before the receives were posted.
    if (received_ >= 2) return {rate_of({begun_, 0, received_})};
    return {std::nullopt,
            said("locate.few_messages", received_, fmt::format("{:.2g}", line_.seconds))};
  }

 private:
  void post(Slot& s) {
    s.sequence = next_++;
    mpi::check(MPI_Irecv(s.memory.data(), static_cast<int>(line_.bytes), MPI_BYTE, line_.peer,
                         line_.tag, line_.comm, &s.request),
               "MPI_Irecv");
  }

  // Messages since one that began the time. Those that were found at the same look do not count:
  // they may have come at any time before it.
  struct Span {
    double from = 0;
    uint64_t look = 0;
    uint64_t messages = 0;
  };

  void count(Span& span, double now) const {
    if (span.from == 0)
      span = {now, look_, 0};
    else if (look_ > span.look)
      ++span.messages;
  }

  double rate_of(const Span& span) const {
    return static_cast<double>(span.messages * line_.bytes) / (last_ - span.from);
  }

  void take(Slot& s) {
    const double now = monotonic_seconds();
    if (!stamp_matches(s.memory, line_.seed_in, s.sequence)) ++wrong_;
    last_ = now;
    ++received_;
    count(all_, now);
    if (now - all_.from >= kWarmShare * line_.seconds) count(warm_, now);
    post(s);
  }

  Line line_;
  std::vector<Slot> slots_;
  size_t oldest_ = 0;
  uint64_t next_ = 0;
  int ended_ = 0;
  Span all_, warm_;  // from the first message on, and from the end of the warm-up
  double begun_ = 0, last_ = 0;
  uint64_t look_ = 0, received_ = 0, wrong_ = 0;
};

// Messages go to and fro. The sender times round trips; an empty message ends them and comes back
// empty.
class PingPongFlow final : public Flow {
 public:
  PingPongFlow(const Line& line, bool initiates) : line_(line), initiates_(initiates) {
    in_.memory.resize(line.bytes);
    out_.memory.resize(line.bytes);
    receive();
  }

  bool poll() override {
    if (start_ == 0) {
      start_ = sent_at_ = monotonic_seconds();
      if (initiates_) send(static_cast<int>(line_.bytes));
    }
    if (!finished(out_) || ended_) return ended_ && finished(out_);
    int done = 0;
    MPI_Status status;
    mpi::check(MPI_Test(&in_.request, &done, &status), "MPI_Test");
    if (done == 0) return false;
    int count = 0;
    mpi::check(MPI_Get_count(&status, MPI_BYTE, &count), "MPI_Get_count");
    answer(count);
    return false;
  }

  PairFigure figure() const override {
    if (wrong_ > 0) return {std::nullopt, said("locate.wrong_messages", wrong_)};
    if (!initiates_) return {};
    if (half_trips_.empty()) return {std::nullopt, said("locate.no_round_trip")};
    return {median(half_trips_)};
  }

 private:
  static bool finished(Slot& s) {
    int done = 0;
    mpi::check(MPI_Test(&s.request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  }

  void receive() {
    mpi::check(MPI_Irecv(in_.memory.data(), static_cast<int>(line_.bytes), MPI_BYTE, line_.peer,
                         line_.tag, line_.comm, &in_.request),
               "MPI_Irecv");
  }

  void send(int bytes) {
    if (bytes > 0) write_stamp(out_.memory, line_.seed_out, out_.sequence++);
    mpi::check(MPI_Isend(out_.memory.data(), bytes, MPI_BYTE, line_.peer, line_.tag, line_.comm,
                         &out_.request),
               "MPI_Isend");
  }

  void answer(int count) {
    const double now = monotonic_seconds();
    if (count > 0 && !stamp_matches(in_.memory, line_.seed_in, in_.sequence++)) ++wrong_;
    ended_ = count == 0;
    if (!initiates_) {
      if (!ended_) receive();
      return send(count);
    }
    if (ended_) return;
    if (now - start_ >= kWarmShare * line_.seconds && half_trips_.size() < kMaxSamples)
      half_trips_.push_back((now - sent_at_) / 2);
    receive();
    sent_at_ = monotonic_seconds();
    send(now - start_ >= line_.seconds ? 0 : static_cast<int>(line_.bytes));
  }

  Line line_;
  bool initiates_;
  Slot in_, out_;
  bool ended_ = false;
  double start_ = 0, sent_at_ = 0;
  std::vector<double> half_trips_;
  uint64_t wrong_ = 0;
};

class MpiTransport final : public PairTransport {
 public:
  explicit MpiTransport(Context& context)
      : context_(context), rank_(context.comm.rank()), room_(room_for_messages(context.fs)) {}
  // Never frees the buffers of transfers that did not end: MPI may write to them while the process
  // lives.
  ~MpiTransport() override {
    for (Transfer& transfer : abandoned_) {
      for (auto& flow : transfer.flows) static_cast<void>(flow.release());
    }
  }
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;

  std::string name() const override { return "MPI (" + mpi::library_name() + ")"; }

  bool ranks_have_own_ways() const override { return true; }

  uint64_t host_memory(const PairTask& task) const override {
    const bool latency = task.measure == PairMeasure::latency;
    const uint64_t slots = latency ? 2 : task.two_way ? 2 * kWindow : kWindow;
    return slots * task.bytes;
  }

  // MPI connects by itself with the first message, which is not counted. Looks whether the host has
  // memory for the round beside the transfers that did not end.
  void connect(std::span<const PairTask> mine, double) override {
    ++epoch_;
    reap();
    HeldMemory held{.unended = {}, .room = room_};
    for (const Transfer& t : abandoned_) held.unended.push_back(t.unended);
    for (const PairTask& task : mine) held.next_round += host_memory(task);
    require_room_beside(context_, held);
  }

  std::vector<PairFigure> run(std::span<const PairTask> mine, double deadline_seconds) override {
    std::vector<Transfer> transfers;
    for (const PairTask& task : mine) transfers.push_back(transfer_of(task));
    const double end = monotonic_seconds() + deadline_seconds;
    std::vector<bool> done(mine.size());
    size_t left = mine.size();
    while (left > 0 && monotonic_seconds() < end) {
      for (size_t i = 0; i < mine.size(); ++i) {
        if (done[i] || !poll(transfers[i])) continue;
        done[i] = true;
        --left;
      }
      if (left > 0) sched_yield();
    }
    std::vector<PairFigure> out;
    for (size_t i = 0; i < mine.size(); ++i) {
      out.push_back(done[i]
                        ? figure_of(transfers[i].flows)
                        : PairFigure{std::nullopt, said("locate.no_answer", mine[i].peer,
                                                        fmt::format("{:.3g}", deadline_seconds))});
      // Keeps the buffers: MPI may still write to them.
      if (!done[i]) abandoned_.push_back(std::move(transfers[i]));
    }
    return out;
  }

 private:
  struct Transfer {
    UnendedTransfer unended;  // what it is if it does not end
    std::vector<std::unique_ptr<Flow>> flows;
  };

  static bool poll(Transfer& transfer) {
    bool all = true;
    for (const auto& f : transfer.flows) all = f->poll() && all;
    return all;
  }

  // Frees the buffers of abandoned transfers that have ended since. They are polled until both ends
  // have told each other that it was the last message: a send cannot be cancelled, and one without
  // a receive would never end. Past their time they send only that. Between rounds, which it would
  // disturb, and as long as some end.
  void reap() {
    double until = monotonic_seconds() + kReapSeconds;
    while (!abandoned_.empty() && monotonic_seconds() < until) {
      if (std::erase_if(abandoned_, [](Transfer& transfer) { return poll(transfer); }) > 0)
        until = monotonic_seconds() + kReapSeconds;
      sched_yield();
    }
  }

  static PairFigure figure_of(const std::vector<std::unique_ptr<Flow>>& flows) {
    PairFigure out;
    for (const auto& f : flows) {
      PairFigure one = f->figure();
      if (one.value) out.value = one.value;
      if (!one.failure.empty()) out.failure = one.failure;
    }
    if (!out.failure.empty()) out.value.reset();
    return out;
  }

  // Each round has its own tag, so that a later transfer never takes what an abandoned one left
  // behind. There is one rail. MPI guarantees tags up to 32767.
  Line line_of(const PairTask& task) const {
    const auto seed = [&](int sender) {
      return kernels::pattern_word(static_cast<uint64_t>(sender),
                                   epoch_ * 64 + static_cast<uint64_t>(task.rail));
    };
    return {.comm = world_.get(),
            .peer = task.peer,
            .tag = static_cast<int>(epoch_ % kTags),
            .bytes = task.bytes,
            .seconds = task.seconds,
            .seed_out = seed(rank_),
            .seed_in = seed(task.peer)};
  }

  Transfer transfer_of(const PairTask& task) const {
    Transfer out{.unended = {.round = epoch_,
                             .from = task.sends ? rank_ : task.peer,
                             .to = task.sends ? task.peer : rank_,
                             .bytes = host_memory(task)},
                 .flows = {}};
    const Line line = line_of(task);
    if (task.measure == PairMeasure::latency) {
      out.flows.push_back(std::make_unique<PingPongFlow>(line, task.sends));
      return out;
    }
    if (task.sends || task.two_way) out.flows.push_back(std::make_unique<SendFlow>(line));
    if (!task.sends || task.two_way) out.flows.push_back(std::make_unique<ReceiveFlow>(line));
    return out;
  }

  Context& context_;
  mpi::WorldCopy world_;
  int rank_;
  std::optional<uint64_t> room_;  // for the messages of all ranks of this host
  uint64_t epoch_ = 0;
  std::vector<Transfer> abandoned_;
};

}  // namespace

OpenedTransport make_mpi_transport(Context& context) {
  if (!mpi::launched() || context.comm.size() < 2) return {nullptr, said("net.mpi_needs_launcher")};
  return {std::make_unique<MpiTransport>(context)};
}

}  // namespace cb
