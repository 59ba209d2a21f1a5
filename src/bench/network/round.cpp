#include "bench/network/round.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <map>
#include <system_error>
#include <thread>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/stats.h"
#include "sys/os/left_behind.h"

namespace cb::net {
namespace {

// A key for each end of a transfer. Both ranks compute the same key for the same end.
std::string key_of(int self, const PairJob& job, bool sender) {
  const int from = job.task.sends ? self : job.task.peer;
  const int to = job.task.sends ? job.task.peer : self;
  const int from_rail = job.task.sends ? job.task.rail : job.peer_rail;
  const int to_rail = job.task.sends ? job.peer_rail : job.task.rail;
  return fmt::format("{}:{}>{}:{}{}", from, from_rail, to, to_rail, sender ? "s" : "r");
}

// Returns the addresses of all ends by key; the address of a failed end begins with '!'.
std::map<std::string, std::string> exchange_addresses(Comm& comm, const std::string& mine) {
  std::string joined;
  for (const std::string& blob : comm.gather(mine)) joined += blob;
  joined = comm.broadcast_text(std::move(joined));
  std::map<std::string, std::string> out;
  for (size_t begin = 0; begin < joined.size();) {
    const size_t end = joined.find('\n', begin);
    const size_t space = joined.find(' ', begin);
    out.emplace(joined.substr(begin, space - begin), joined.substr(space + 1, end - space - 1));
    begin = end + 1;
  }
  return out;
}

// Destroys the end in a thread that goes on alone if its driver holds it.
std::future<void> closing(std::shared_ptr<PairEndpoint> end) {
  const auto closed = std::make_shared<std::promise<void>>();
  std::future<void> done = closed->get_future();
  try {
    run_left_behind([end = std::move(end), closed]() mutable {
      end.reset();
      closed->set_value();
    });
  } catch (const std::system_error&) {  // no thread could be made, and the end is gone by now
    closed->set_value();
  }
  return done;
}

std::string one_line(std::string text) {
  for (char& c : text) {
    if (c == '\n') c = ' ';
  }
  return text;
}

}  // namespace

PairFigure PairOutcome::figure(PairMeasure measure) const {
  if (!failure.empty()) return {std::nullopt, failure};
  if (wrong_data && !wrong_data->empty()) return {std::nullopt, *wrong_data};
  if (measure == PairMeasure::latency && latency_seconds.count() > 0)
    return {latency_seconds.quantile(0.5)};
  if (measure == PairMeasure::bandwidth && !arriving_bytes_per_second.empty())
    return {median(arriving_bytes_per_second)};
  if (measure == PairMeasure::bandwidth && !bytes_per_second.empty())
    return {median(bytes_per_second)};
  return {std::nullopt, said("net.nothing")};
}

void RoundEnds::make_ends(std::span<const PairJob> jobs, const MakeEndpoint& make) {
  slots_.clear();
  for (const PairJob& job : jobs) {
    Slot slot{job, nullptr, {}};
    try {
      slot.end = make(job);
    } catch (const std::exception& e) {
      slot.failure = said_by(e);
    }
    slots_.push_back(std::move(slot));
  }
}

void RoundEnds::connect(Comm& comm, std::span<const PairJob> jobs, const MakeEndpoint& make,
                        double deadline_seconds) {
  make_ends(jobs, make);
  std::string mine;
  for (Slot& slot : slots_) {
    const std::string address =
        slot.end ? slot.end->address() : "!" + one_line(pack_said(slot.failure));
    mine += fmt::format("{} {}\n", key_of(comm.rank(), slot.job, slot.job.task.sends), address);
  }
  const auto addresses = exchange_addresses(comm, mine);
  const double end = monotonic_seconds() + deadline_seconds;
  for (Slot& slot : slots_) {
    if (!slot.end) continue;
    const auto peer = addresses.find(key_of(comm.rank(), slot.job, !slot.job.task.sends));
    if (peer == addresses.end()) {
      slot.failure = said("net.absent_end", slot.job.name);
    } else if (peer->second.starts_with('!')) {
      slot.failure = said("net.other_end", slot.job.name, unpack_said(peer->second.substr(1)));
    } else {
      try {
        slot.end->connect(peer->second, std::max(0.1, end - monotonic_seconds()));
      } catch (const std::exception& e) {
        slot.failure = said_by(e);
      }
    }
  }
}

std::vector<PairOutcome> RoundEnds::run(double deadline_seconds) {
  std::vector<PairOutcome> out(slots_.size());
  const auto run_one = [&](size_t i) {
    Slot& slot = slots_[i];
    if (!slot.failure.empty()) {
      out[i].failure = slot.failure;
      return;
    }
    try {
      out[i] = slot.end->run(deadline_seconds);
    } catch (const std::exception& e) {
      out[i].failure = said_by(e);
    }
  };
  std::vector<std::thread> threads;
  for (size_t i = 1; i < slots_.size(); ++i) threads.emplace_back(run_one, i);
  if (!slots_.empty()) run_one(0);
  for (std::thread& t : threads) t.join();
  close(out);
  return out;
}

void RoundEnds::close(std::vector<PairOutcome>& out) {
  std::vector<std::future<void>> closed;
  for (Slot& slot : slots_) closed.push_back(closing(std::move(slot.end)));
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(close_seconds_);
  for (size_t i = 0; i < closed.size(); ++i) {
    if (closed[i].wait_until(end) == std::future_status::ready) continue;
    const bool wrong = out[i].wrong_data && !out[i].wrong_data->empty();
    if (wrong || !out[i].failure.empty()) continue;  // which says more
    const PairJob& job = slots_[i].job;
    out[i] = {};
    out[i].failure = said(job.task.sends ? "net.sender_not_closed" : "net.receiver_not_closed",
                          job.name, fmt::format("{}", close_seconds_));
  }
  slots_.clear();
}

void EndTransport::connect(std::span<const PairTask> mine, double deadline_seconds) {
  std::vector<PairJob> jobs;
  for (const PairTask& task : mine) {
    jobs.push_back(
        {task, task.rail,
         fmt::format("rank {} {} rank {}", comm_.rank(), task.sends ? "→" : "←", task.peer)});
  }
  ends_.connect(comm_, jobs, make_, deadline_seconds);
}

std::vector<PairFigure> EndTransport::run(std::span<const PairTask> mine, double deadline_seconds) {
  std::vector<PairFigure> out;
  const auto outcomes = ends_.run(deadline_seconds);
  for (size_t i = 0; i < outcomes.size(); ++i) {
    out.push_back(outcomes[i].figure(mine[i].measure));
    // The end that answers pings has no figure, and that is no failure.
    const bool right = (!outcomes[i].wrong_data || outcomes[i].wrong_data->empty());
    if (mine[i].measure == PairMeasure::latency && !mine[i].sends && outcomes[i].failure.empty() &&
        right)
      out.back() = {};
  }
  return out;
}

}  // namespace cb::net
