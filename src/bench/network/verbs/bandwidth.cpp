// Streaming bandwidth and message rate. Posts go in turn over all queue pairs, one completion
// covers many messages, and the time runs from the first post to the last completion.
#include "bench/network/verbs/bandwidth.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <numeric>

#include "sys/cpu/ticks.h"

namespace cb::verbs {
namespace {

constexpr int kPollBatch = 16;
// A datagram that is on its way when the sender finishes arrives within these seconds or never.
constexpr double kStragglerSeconds = 0.02;
constexpr uint64_t kNoEnd = std::numeric_limits<uint64_t>::max();

uint64_t moderation_of(const Spec& spec) {
  const int half = std::max(1, spec.depth / 2);
  return static_cast<uint64_t>(std::clamp(spec.moderation, 1, half));
}

}  // namespace

Stream::Stream(Link& link, bool sends, bool receives)
    : link_(link), sends_(sends), receives_(receives), moderation_(moderation_of(link.spec())) {
  for (size_t q = 0; q < link.pairs(); ++q) {
    if (sends) flows_.push_back({Requests(link, q)});
    if (receives) receive_.emplace_back(link, q);
  }
  for (Receives& r : receive_) r.post_all();
}

uint64_t Stream::received() const {
  return std::accumulate(receive_.begin(), receive_.end(), uint64_t{0},
                         [](uint64_t sum, const Receives& r) { return sum + r.count(); });
}

std::vector<uint64_t> Stream::sent_by_pair() const {
  std::vector<uint64_t> out;
  for (const Flow& flow : flows_) out.push_back(flow.posted);
  return out;
}

std::vector<uint64_t> Stream::received_by_pair() const {
  std::vector<uint64_t> out;
  for (const Receives& r : receive_) out.push_back(r.count());
  return out;
}

void Stream::start(uint64_t iterations) {
  for (Flow& flow : flows_) flow.target = iterations > 0 ? flow.posted + iterations : kNoEnd;
}

void Stream::post_some(Flow& flow, int count) {
  flow.unsignalled += static_cast<uint64_t>(count);
  const bool last = flow.posted + static_cast<uint64_t>(count) == flow.target;
  const uint64_t covers = last || flow.unsignalled >= moderation_ ? flow.unsignalled : 0;
  flow.requests.post(flow.posted, count, covers);
  flow.posted += static_cast<uint64_t>(count);
  if (covers > 0) flow.unsignalled = 0;
}

bool Stream::post() {
  const auto depth = static_cast<uint64_t>(link_.spec().depth);
  const auto list = static_cast<uint64_t>(link_.spec().post_list);
  bool any = false;
  for (Flow& flow : flows_) {
    while (flow.posted < flow.target) {
      const uint64_t count = std::min(list, flow.target - flow.posted);
      if (flow.posted - flow.completed + count > depth) break;
      post_some(flow, static_cast<int>(count));
      any = true;
    }
  }
  return any;
}

bool Stream::reap_sends() {
  std::array<ibv_wc, kPollBatch> wc;
  const int n = ibv_poll_cq(link_.send_cq(), kPollBatch, wc.data());
  if (n < 0) fail("ibv_poll_cq", link_.device().name(), n);
  for (int i = 0; i < n; ++i) {
    const ibv_wc& one = wc[static_cast<size_t>(i)];
    const size_t q = one.wr_id >> 32U;
    check_completion(link_, one, q);
    flows_[q].completed += one.wr_id & 0xffffffffU;
  }
  return n > 0;
}

bool Stream::reap_receives() {
  std::array<ibv_wc, kPollBatch> wc;
  const int n = ibv_poll_cq(link_.receive_cq(), kPollBatch, wc.data());
  if (n < 0) fail("ibv_poll_cq", link_.device().name(), n);
  for (int i = 0; i < n; ++i) {
    const ibv_wc& one = wc[static_cast<size_t>(i)];
    check_completion(link_, one, one.wr_id);
    receive_[one.wr_id].consumed();
  }
  return n > 0;
}

// Ends the repetition when time is up: no more messages are posted. The last message of each flow
// needs a completion, so a flow whose last message asked for none sends one more.
void Stream::finish_at_time(double end) {
  if (flows_.empty() || flows_[0].target != kNoEnd || raw_seconds() < end) return;
  for (Flow& flow : flows_) flow.target = flow.posted + (flow.unsignalled > 0 ? 1 : 0);
}

bool Stream::sending() const {
  return std::any_of(flows_.begin(), flows_.end(),
                     [](const Flow& f) { return f.completed < f.target; });
}

void Stream::hear(Idle& idle) {
  if (!heard_) heard_ = link_.control().try_receive();
  if (heard_ && heard_->kind == Message::failed)
    throw Error(said("said.of", link_.peer().name, heard_->text));
  if (!idle.go_on())
    throw Error(idle.cancelled()
                    ? said("run.interrupted")
                    : said("verbs.not_finished", link_.device().name(), link_.peer().name));
}

// Takes messages that still arrive after the peer has said how many it sent.
void Stream::drain(Idle& idle) {
  const bool lossy = link_.spec().service != Service::rc;
  double last = raw_seconds();
  while (received() < expected_) {
    if (reap_receives()) {
      idle.found();
      last = raw_seconds();
    } else if (lossy && raw_seconds() - last > kStragglerSeconds) {
      return;
    } else if (idle.again()) {
      hear(idle);
    }
  }
}

Stream::Result Stream::run(uint64_t iterations, double seconds, Idle& idle) {
  const std::vector<uint64_t> before = sent_by_pair();
  start(iterations);
  heard_.reset();
  link_.control().barrier(idle);
  const double begin = raw_seconds();
  while (sending()) {
    bool moved = post();
    if (reap_sends()) {
      moved = true;
      finish_at_time(begin + seconds);
    }
    if (receives_) moved |= reap_receives();
    if (moved) {
      idle.found();
      continue;
    }
    if (idle.again()) hear(idle);
    if (link_.channel() != nullptr && link_.wait_event(idle.left())) hear(idle);
  }
  Result result{.seconds = sends_ ? raw_seconds() - begin : 0};
  for (size_t q = 0; q < flows_.size(); ++q) result.sent += flows_[q].posted - before[q];
  Message mine;
  mine.kind = Message::done;
  mine.messages = result.sent;
  if (const auto all = sent_by_pair(); !all.empty()) mine.fewest = std::ranges::min(all);
  mine.seconds = result.seconds;
  link_.control().send(mine);
  while (receives_ && !heard_) {
    if (reap_receives()) continue;
    if (idle.again()) hear(idle);
    if (link_.channel() != nullptr && link_.wait_event(0.001)) hear(idle);
  }
  if (!heard_) heard_ = link_.control().wait(idle);
  if (heard_->kind != Message::done)
    throw Error(link_.peer().name + ": " +
                (heard_->kind == Message::failed ? heard_->text : "out of step"));
  result.peer_sent = heard_->messages;
  result.peer_seconds = heard_->seconds;
  fewest_from_peer_ = heard_->fewest;
  expected_ += receives_ ? heard_->messages : 0;
  if (receives_) drain(idle);
  return result;
}

}  // namespace cb::verbs
