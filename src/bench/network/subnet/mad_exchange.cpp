#include "bench/network/subnet/mad_exchange.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb::net {

size_t MadExchange::destination_of(const MadQuestion& question) {
  const auto [at, fresh] = question.of == MadClass::directed
                               ? [&] {
                                   const auto [i, f] =
                                       by_path_.try_emplace(std::string(question.path.begin(), question.path.end()), destinations_.size());
                                   return std::pair(i->second, f);
                                 }()
                               : [&] {
                                   const auto [i, f] =
                                       by_lid_.try_emplace(question.lid, destinations_.size());
                                   return std::pair(i->second, f);
                                 }();
  if (fresh) destinations_.emplace_back();
  return at;
}

void MadExchange::make_ready(size_t destination) {
  Destination& to = destinations_[destination];
  if (to.ready || to.waiting.empty() || to.in_flight >= limits_.per_destination) return;
  to.ready = true;
  ready_.push_back(destination);
}

void MadExchange::ask(MadQuestion question, OnMadAnswer then) {
  const size_t to = destination_of(question);
  destinations_[to].waiting.push_back({std::move(question), std::move(then), 0, to});
  make_ready(to);
}

void MadExchange::send(Pending pending) {
  const uint32_t number = ++last_;
  wire_.send(pending.question, compose(pending.question, number), limits_.timeout_ms);
  ++tally_.sent;
  ++pending.tries;
  ++destinations_[pending.destination].in_flight;
  // The kernel's own deadline is the first; this one is for a kernel or driver that forgets.
  const auto deadline = Clock::now() + std::chrono::milliseconds(2 * limits_.timeout_ms);
  in_flight_.emplace(number, InFlight{std::move(pending), deadline});
  by_age_.push_back(number);
}

void MadExchange::fill_window() {
  while (!ready_.empty() && in_flight_.size() < static_cast<size_t>(window_)) {
    const size_t at = ready_.front();
    ready_.pop_front();
    Destination& to = destinations_[at];
    to.ready = false;
    Pending next = std::move(to.waiting.front());
    to.waiting.pop_front();
    send(std::move(next));
    make_ready(at);
  }
}

void MadExchange::missed(Pending pending) {
  ++tally_.timed_out;
  window_ = std::max(1.0, window_ / 2);
  const size_t to = pending.destination;
  if (pending.tries < limits_.tries) {
    destinations_[to].waiting.push_back(std::move(pending));
    make_ready(to);
    return;
  }
  make_ready(to);
  const OnMadAnswer then = std::move(pending.then);
  then({std::nullopt,
        fmt::format("no answer in {} tries of {} ms", pending.tries, limits_.timeout_ms)});
}

void MadExchange::take(const MadArrival& arrival) {
  const auto at = in_flight_.find(transaction_of(arrival.mad));
  if (at == in_flight_.end()) return;  // late, or somebody else's
  Pending pending = std::move(at->second.pending);
  in_flight_.erase(at);
  --destinations_[pending.destination].in_flight;
  if (arrival.timed_out) {
    missed(std::move(pending));
    return;
  }
  make_ready(pending.destination);
  ++tally_.answered;
  window_ = std::min<double>(static_cast<double>(limits_.largest_window), window_ + 1.0 / 64);
  const uint16_t status = status_of(arrival.mad);
  if (status == 0) {
    pending.then({arrival.mad, ""});
    return;
  }
  ++tally_.refused;
  pending.then({std::nullopt, mad_status_text(status), true, status});
}

void MadExchange::expire() {
  while (!by_age_.empty()) {
    const auto at = in_flight_.find(by_age_.front());
    if (at != in_flight_.end()) {
      if (at->second.deadline > Clock::now()) return;
      Pending pending = std::move(at->second.pending);
      in_flight_.erase(at);
      --destinations_[pending.destination].in_flight;
      by_age_.pop_front();
      missed(std::move(pending));
      continue;
    }
    by_age_.pop_front();
  }
}

void MadExchange::give_up() {
  std::vector<Pending> left;
  for (auto& [number, flight] : in_flight_) left.push_back(std::move(flight.pending));
  for (Destination& to : destinations_) {
    for (Pending& pending : to.waiting) left.push_back(std::move(pending));
    to = {};
  }
  in_flight_.clear();
  by_age_.clear();
  ready_.clear();
  for (const Pending& pending : left)
    pending.then(
        {std::nullopt, fmt::format("the limit of {} s has passed", limits_.total_seconds)});
}

void MadExchange::run() {
  const auto begin = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - begin).count(); };
  const double before = tally_.seconds;
  while (!ready_.empty() || !in_flight_.empty()) {
    if (before + seconds() > limits_.total_seconds) give_up();
    fill_window();
    expire();
    if (in_flight_.empty()) continue;
    constexpr int kWaitMs = 50;
    if (const auto arrival = wire_.receive(std::min(kWaitMs, limits_.timeout_ms))) take(*arrival);
    alive_();
    tally_.seconds = before + seconds();
  }
}

}  // namespace cb::net
