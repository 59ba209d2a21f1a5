#include "bench/network/tcp/stream_thread.h"

#include <poll.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <utility>

#include "bench/network/tcp/payload.h"
#include "core/clock.h"
#include "sys/net/tcp_socket.h"

namespace cb::tcp {
namespace {

double thread_cpu_seconds() {
  rusage usage = {};
  getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

std::vector<size_t> cpus_per_rank(const std::vector<RankCpus>& ranks) {
  std::map<std::string, std::map<int, int>> users;  // CPU → number of its ranks, by machine
  for (const RankCpus& rank : ranks) {
    auto& of_machine = users[rank.machine];
    for (const int cpu : rank.cpus) ++of_machine[cpu];
  }
  std::vector<size_t> out;
  for (const RankCpus& rank : ranks) {
    const auto& of_machine = users[rank.machine];
    double share = 1e-9;  // makes up for rounding: three thirds add up to less than one
    for (const int cpu : rank.cpus) share += 1.0 / of_machine.at(cpu);
    out.push_back(std::max<size_t>(1, static_cast<size_t>(share)));
  }
  return out;
}

size_t threads_for(size_t streams, size_t cpus) {
  return std::min(streams, std::max<size_t>(1, cpus));
}

void Tally::add(const Tally& other) {
  bytes += other.bytes;
  seconds += other.seconds;
  cpu_seconds += other.cpu_seconds;
}

void PhaseCounters::begin() {
  since_ = monotonic_seconds();
  cpu_since_ = thread_cpu_seconds();
}

Phase PhaseCounters::look() {
  const Phase now = control_.phase.load(std::memory_order_relaxed);
  if (now != seen_.load(std::memory_order_relaxed)) {
    close();
    seen_.store(now, std::memory_order_release);
  }
  return now;
}

void PhaseCounters::close() {
  const double now = monotonic_seconds(), cpu = thread_cpu_seconds();
  open_.seconds = now - since_;
  open_.cpu_seconds = cpu - cpu_since_;
  tallies_[static_cast<size_t>(seen_.load(std::memory_order_relaxed))].add(open_);
  open_ = {};
  since_ = now;
  cpu_since_ = cpu;
}

StreamThread::StreamThread(std::vector<StreamEnd*> streams, const Spec& spec,
                           const TransferControl& control)
    : streams_(std::move(streams)),
      control_(control),
      memory_(scratch_bytes(spec)),
      counters_(control) {
  fill_stream(memory_, 0, 1);
}

StreamThread::~StreamThread() { join(); }

void StreamThread::start() {
  thread_ = std::thread([this] { work(); });
}

void StreamThread::join() {
  if (thread_.joinable()) thread_.join();
}

void StreamThread::work() {
  counters_.begin();
  streams_.size() == 1 ? move_one(*streams_[0]) : move_all();
  counters_.close();
  for (StreamEnd* m : streams_) m->finish();
}

void StreamThread::move_one(StreamEnd& stream) {
  while (!stream.ended() && !control_.abort.load(std::memory_order_relaxed))
    counters_.add(stream.step(counters_.look(), true, memory_));
}

void StreamThread::move_all() {
  std::vector<pollfd> waiting;
  waiting.reserve(streams_.size());
  for (const StreamEnd* m : streams_) waiting.push_back({m->fd(), m->readiness(), 0});
  for (size_t live = streams_.size();
       live > 0 && !control_.abort.load(std::memory_order_relaxed);) {
    poll(waiting.data(), waiting.size(), kSocketSliceMs);
    const Phase phase = counters_.look();
    // Streams that are not ready must learn of the end too.
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (waiting[i].fd < 0 || (waiting[i].revents == 0 && phase != Phase::over)) continue;
      counters_.add(streams_[i]->step(phase, false, memory_));
      if (!streams_[i]->ended()) continue;
      waiting[i].fd = -1;  // poll() ignores a negative descriptor
      streams_[i]->finish();
      --live;
    }
  }
}

}  // namespace cb::tcp
