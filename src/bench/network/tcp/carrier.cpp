#include "bench/network/tcp/carrier.h"

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

std::vector<size_t> cpu_shares(const std::vector<RankCpus>& ranks) {
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

size_t carriers_for(size_t streams, size_t cpus) {
  return std::min(streams, std::max<size_t>(1, cpus));
}

void Tally::add(const Tally& other) {
  bytes += other.bytes;
  seconds += other.seconds;
  cpu_seconds += other.cpu_seconds;
}

void Accountant::begin() {
  since_ = monotonic_seconds();
  cpu_since_ = thread_cpu_seconds();
}

Phase Accountant::look() {
  const Phase now = baton_.phase.load(std::memory_order_relaxed);
  if (now != seen_.load(std::memory_order_relaxed)) {
    close();
    seen_.store(now, std::memory_order_release);
  }
  return now;
}

void Accountant::close() {
  const double now = monotonic_seconds(), cpu = thread_cpu_seconds();
  open_.seconds = now - since_;
  open_.cpu_seconds = cpu - cpu_since_;
  tallies_[static_cast<size_t>(seen_.load(std::memory_order_relaxed))].add(open_);
  open_ = {};
  since_ = now;
  cpu_since_ = cpu;
}

Carrier::Carrier(std::vector<Mover*> movers, const Spec& spec, const Baton& baton)
    : movers_(std::move(movers)), baton_(baton), memory_(scratch_bytes(spec)), books_(baton) {
  fill_stream(memory_, 0, 1);
}

Carrier::~Carrier() { join(); }

void Carrier::start() {
  thread_ = std::thread([this] { work(); });
}

void Carrier::join() {
  if (thread_.joinable()) thread_.join();
}

void Carrier::work() {
  books_.begin();
  movers_.size() == 1 ? move_one(*movers_[0]) : move_all();
  books_.close();
  for (Mover* m : movers_) m->finish();
}

void Carrier::move_one(Mover& mover) {
  while (!mover.ended() && !baton_.abort.load(std::memory_order_relaxed))
    books_.add(mover.step(books_.look(), true, memory_));
}

void Carrier::move_all() {
  std::vector<pollfd> waiting;
  waiting.reserve(movers_.size());
  for (const Mover* m : movers_) waiting.push_back({m->fd(), m->readiness(), 0});
  for (size_t live = movers_.size(); live > 0 && !baton_.abort.load(std::memory_order_relaxed);) {
    poll(waiting.data(), waiting.size(), kSocketSliceMs);
    const Phase phase = books_.look();
    // Streams that are not ready must learn of the end too.
    for (size_t i = 0; i < movers_.size(); ++i) {
      if (waiting[i].fd < 0 || (waiting[i].revents == 0 && phase != Phase::over)) continue;
      books_.add(movers_[i]->step(phase, false, memory_));
      if (!movers_[i]->ended()) continue;
      waiting[i].fd = -1;  // poll() ignores a negative descriptor
      movers_[i]->finish();
      --live;
    }
  }
}

}  // namespace cb::tcp
