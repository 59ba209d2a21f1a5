// Latency of single messages. Every iteration is kept as ticks of the processor's counter. The raw
// clock over the same stretch turns ticks into seconds.
#include "bench/network/verbs/latency.h"

#include <algorithm>
#include <cstring>

#include "sys/cpu/ticks.h"

namespace cb::verbs {
namespace {

// Number of stamps that are collected before they go into the histogram, which takes a moment.
constexpr size_t kStretch = 16384;
constexpr uint64_t kWarmUp = 64;
// A look at a byte takes less time than a poll of a completion queue: this number of looks counts
// as one poll.
constexpr int kGlances = 64;

// The last byte of a write, which the receiver waits for: 1…255. Two in a row differ, and none is
// 0, which the memory begins with.
std::byte mark(uint64_t number) { return static_cast<std::byte>(1 + number % 255); }

struct Stopped {};  // the other end has finished

}  // namespace

PingPong::PingPong(Link& link, bool begins)
    : link_(link),
      begins_(begins),
      by_byte_(link.spec().verb == Verb::write),
      requests_(link, 0),
      moderation_(static_cast<uint64_t>(std::max(1, link.spec().depth / 2))) {
  if (link.spec().verb != Verb::send) return;
  receive_.emplace_back(link, 0);
  receive_[0].post_all();
}

void PingPong::pause(Idle& idle) {
  if (idle.again()) look(idle);
  if (link_.channel() != nullptr && link_.wait_event(idle.left())) look(idle);
}

void PingPong::look(Idle& idle) {
  if (!heard_) heard_ = link_.control().try_receive();
  if (heard_ && heard_->kind == Message::failed)
    throw Error(said("said.of", link_.peer().name, heard_->text));
  // The peer says this after our last answer: no message is left to take.
  if (heard_ && !begins_) throw Stopped{};
  if (!idle.go_on())
    throw Error(idle.cancelled()
                    ? said("run.interrupted")
                    : said("verbs.no_message", link_.device().name(), link_.peer().name));
}

void PingPong::reap_sends(Idle& idle) {
  ibv_wc wc;
  idle.found();
  for (;;) {
    const int n = ibv_poll_cq(link_.send_cq(), 1, &wc);
    if (n > 0) {
      check_completion(link_, wc, 0);
      completed_ += wc.wr_id & 0xffffffffU;
      return;
    }
    if (n < 0) fail("ibv_poll_cq", link_.device().name(), n);
    pause(idle);
  }
}

// A pong proves that the ping arrived, so only one message in many asks for a completion.
void PingPong::post_next() {
  if (by_byte_) link_.out(0, 0)[link_.spec().bytes - 1] = mark(posted_);
  const uint64_t covers = ++unsignalled_ >= moderation_ ? unsignalled_ : 0;
  requests_.post(posted_++, 1, covers);
  if (covers > 0) unsignalled_ = 0;
}

void PingPong::await_byte(Idle& idle) {
  const volatile std::byte* last = link_.in(0, 0) + link_.spec().bytes - 1;
  const std::byte wanted = mark(received_);
  for (;;) {
    for (int i = 0; i < kGlances; ++i) {
      if (*last == wanted) return;
    }
    if (!idle.again()) continue;
    // Only this poll reveals a broken connection.
    ibv_wc wc;
    if (ibv_poll_cq(link_.send_cq(), 1, &wc) > 0) {
      check_completion(link_, wc, 0);
      completed_ += wc.wr_id & 0xffffffffU;
    }
    if (*last != wanted) look(idle);
  }
}

void PingPong::await_receive(Idle& idle) {
  ibv_wc wc;
  for (;;) {
    const int n = ibv_poll_cq(link_.receive_cq(), 1, &wc);
    if (n > 0) {
      check_completion(link_, wc, 0);
      receive_[0].consumed();
      return;
    }
    if (n < 0) fail("ibv_poll_cq", link_.device().name(), n);
    pause(idle);
  }
}

void PingPong::await_message(Idle& idle) {
  idle.found();
  by_byte_ ? await_byte(idle) : await_receive(idle);
  ++received_;
}

void PingPong::one(Idle& idle) {
  if (is_round_trip(link_.spec().verb)) {
    requests_.post(posted_++, 1, 1);
    reap_sends(idle);
    return;
  }
  if (posted_ - completed_ >= static_cast<uint64_t>(link_.spec().depth)) reap_sends(idle);
  post_next();
  await_message(idle);
}

void PingPong::begin(uint64_t iterations, double seconds, Idle& idle, Result& result) {
  const TickScale whole;
  // kWarmUp pings on a slow path would take longer than the measurement.
  const double warm = raw_seconds() + std::min(0.2, seconds / 4);
  for (uint64_t i = 0; i < kWarmUp && (i == 0 || raw_seconds() < warm); ++i) one(idle);
  const double share = is_round_trip(link_.spec().verb) ? 1 : 0.5;
  // Decides only when to stop: each stretch below is converted with its own scale.
  const double estimate = whole.seconds_per_tick();
  const uint64_t end = iterations > 0 || estimate <= 0
                           ? UINT64_MAX
                           : ticks_now() + static_cast<uint64_t>(seconds / estimate);
  const uint64_t most = iterations > 0 ? iterations : UINT64_MAX;
  std::vector<uint64_t> stamps(kStretch + 1);
  for (uint64_t done = 0; done < most && ticks_now() < end;) {
    const auto stretch = static_cast<size_t>(std::min<uint64_t>(kStretch, most - done));
    const TickScale scale;
    size_t taken = 0;
    stamps[0] = ticks_now();
    while (taken < stretch && stamps[taken] < end) {
      one(idle);
      stamps[++taken] = ticks_now();
    }
    const double unit = scale.seconds_per_tick() * share;
    for (size_t i = 0; i < taken; ++i)
      result.seconds.add(static_cast<double>(stamps[i + 1] - stamps[i]) * unit);
    done += taken;
  }
}

// Answers until the other end says that it has finished. It says so after our last answer.
void PingPong::answer(Idle& idle) {
  try {
    for (;;) {
      await_message(idle);
      if (posted_ - completed_ >= static_cast<uint64_t>(link_.spec().depth)) reap_sends(idle);
      post_next();
    }
  } catch (const Stopped&) {
  }
}

PingPong::Result PingPong::run(uint64_t iterations, double seconds, Idle& idle) {
  Result result;
  link_.control().barrier(idle);
  if (begins_) {
    begin(iterations, seconds, idle, result);
  } else if (!is_round_trip(link_.spec().verb)) {
    answer(idle);
  }
  Message mine;
  mine.kind = Message::done;
  mine.messages = posted_;
  link_.control().send(mine);
  if (!heard_) heard_ = link_.control().wait(idle);
  if (heard_->kind != Message::done) throw Error(said("said.of", link_.peer().name, heard_->text));
  result.messages = posted_;
  result.peer = heard_->messages;
  return result;
}

}  // namespace cb::verbs
