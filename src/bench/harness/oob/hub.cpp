#include "bench/harness/oob/hub.h"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/gather.h"
#include "core/clock.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr double kPollSeconds = 0.05;
constexpr double kPingSeconds = 0.5;
// The other ranks' watchdogs expire in the same moment and their last states are on the way.
constexpr double kHeardAfter = 0.5;
// Until then the ranks may give back what would outlast them, such as a communicator on a GPU.
constexpr double kExpiredGrace = 0.9;
// A host that goes takes several connections with it.
constexpr double kLostGrace = 0.3;
// A job that was asked to stop and has not by then may be killed: what is known is written.
constexpr double kCancelGrace = 0.4;
constexpr double kGoodbyeSeconds = 1;
// A rank tries for 20 s from when it hears of the channel, and may be as late to that as a stalled
// job: whoever has not come by then does not come any more.
constexpr double kReceptionSeconds = 150;
// Asked to end, a rank's connection may break without anything being wrong.
constexpr double kQuietAfterCancel = 0.7;

}  // namespace

std::string state_to_text(const WatchState& state) {
  return json{{"doing", state.doing},       {"note", state.note},
              {"entered", state.entered},   {"left", state.iterations},
              {"idle", state.idle_seconds}, {"used_up", state.used_up_seconds},
              {"failure", state.failure},   {"met", state.met}}
      .dump(-1, ' ', false, json::error_handler_t::replace);
}

WatchState state_from_text(const std::string& text) {
  const json j = json::parse(text);
  return {j.at("doing"), j.at("note"),    j.at("entered"), j.at("left"),
          j.at("idle"),  j.at("used_up"), j.at("failure"), j.at("met")};
}

std::string greeting_of(const std::string& token, int rank) {
  return fmt::format("{:<32}{:>8}", token, rank);
}

SideHub::SideHub(Reception reception, std::string token, const RankMap& place, Watchdog& watchdog,
                 const CancelToken& cancel, SideChannelOptions options)
    : reception_(std::move(reception)),
      began_(monotonic_seconds()),
      token_(std::move(token)),
      watchdog_(watchdog),
      cancel_(cancel),
      options_(std::move(options)),
      peers_(place.host_of_rank.size()),
      keeper_(options_.on_finished) {
  for (const int host : place.host_of_rank)
    host_of_.push_back(place.hosts[static_cast<size_t>(host)]);
  for (Peer& p : peers_) p.last_heard = monotonic_seconds();
  thread_ = std::thread([this] { loop(); });
}

SideHub::~SideHub() { close(); }

void SideHub::publish(const Record& record) {
  const std::lock_guard lock(mutex_);
  own_records_.push_back(record);
}

bool SideHub::expired(const WatchState& state) {
  const std::lock_guard lock(mutex_);
  own_expired_ = true;
  own_state_ = state;
  return !closing_;
}

void SideHub::close(const std::string&) {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

void SideHub::loop() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (closing_) break;
    }
    serve(kPollSeconds);
    const double now = monotonic_seconds();
    ping(now);
    keep_finished();
    if (look_for_trouble(now)) return;
  }
  say_goodbye();
  // Before the results are written: no descriptor is missing then.
  reception_.close();
  for (Peer& p : peers_) p.link.close();
}

void SideHub::tell_all(char kind) {
  for (Peer& p : peers_) {
    if (p.state != RankLink::connected) continue;
    p.link.queue(kind, "");
    p.link.flush();
  }
}

// Who says goodbye waits until the other one closes: a socket closed with bytes unread would tear
// the connection down, and the goodbye with it.
void SideHub::say_goodbye() {
  tell_all(frame::kBye);
  const double end = monotonic_seconds() + kGoodbyeSeconds;
  const auto open = [](const Peer& p) { return p.state == RankLink::connected; };
  while (std::any_of(peers_.begin(), peers_.end(), open) && monotonic_seconds() < end)
    serve(kPollSeconds);
}

void SideHub::serve(double seconds) {
  std::vector<Watched> sockets;
  std::vector<Peer*> peers;
  for (Peer& p : peers_) {
    if (p.state != RankLink::connected) continue;
    sockets.push_back({.fd = p.link.socket().fd(), .want_write = p.link.has_output()});
    peers.push_back(&p);
  }
  reception_.watch(sockets, monotonic_seconds());
  wait_for_any(sockets, seconds);
  looked_at_ = monotonic_seconds();
  for (size_t i = 0; i < peers.size(); ++i) {
    if (sockets[i].writable) peers[i]->link.flush();
    if (sockets[i].readable) listen_to(*peers[i]);
  }
  const double now = monotonic_seconds();
  for (auto& arrival : reception_.serve(std::span(sockets).subspan(peers.size()), now))
    welcome(std::move(arrival));
  if (reception_.open() && all_have_come(now)) reception_.close();
}

// Who has told a state knows that it is connected and does not come again.
bool SideHub::all_have_come(double now) const {
  const auto come = [](const Peer& p) { return p.told || p.state == RankLink::closed; };
  return std::all_of(peers_.begin() + 1, peers_.end(), come) || now - began_ > kReceptionSeconds;
}

void SideHub::welcome(Reception::Arrival arrival) {
  const auto rank = static_cast<size_t>(std::atoll(arrival.greeting.c_str() + kTokenBytes));
  if (rank == 0 || rank >= peers_.size() || peers_[rank].state != RankLink::never) return;
  Peer& peer = peers_[rank];
  peer.link = FrameLink(std::move(arrival.socket));
  peer.link.trust();
  peer.state = RankLink::connected;
  peer.last_heard = monotonic_seconds();
  peer.link.queue(frame::kWelcome, token_);
  peer.link.flush();
  listen_to(peer);
}

void SideHub::listen_to(Peer& peer) {
  const bool alive = peer.link.fill();
  while (peer.state == RankLink::connected) {
    auto f = peer.link.next();
    if (!f) break;
    take(peer, *f);
  }
  if (alive || peer.state != RankLink::connected) return;
  peer.link.close();
  // A rank that ended while it was still connecting never said anything, not even goodbye.
  peer.state = peer.told ? RankLink::lost : RankLink::never;
  peer.lost_at = looked_at_;
  if (!peer.told) return;
  const double now = monotonic_seconds();
  if (cancelled_since_ > 0 && now - cancelled_since_ > kQuietAfterCancel) return;
  if (trouble_since_ == 0) {
    trouble_since_ = now;
    trouble_ = JobFailure::Kind::lost;
  }
}

void SideHub::take(Peer& peer, const Frame& f) {
  peer.last_heard = monotonic_seconds();
  switch (f.kind) {
    case frame::kExpired:
    case frame::kState:
      peer.last = state_from_text(f.body);
      peer.told = true;
      if (f.kind == frame::kExpired) begin_expiry(peer.last_heard, peer.last);
      break;
    case frame::kRecord:
      peer.records.push_back(unpack_record(f.body));
      break;
    case frame::kBye:
      peer.state = RankLink::closed;
      peer.link.close();
      break;
    default:
      break;
  }
}

void SideHub::ping(double now) {
  if (now - last_ping_ < kPingSeconds) return;
  last_ping_ = now;
  for (Peer& p : peers_) {
    if (p.state != RankLink::connected || p.link.has_output()) continue;
    p.link.queue(frame::kPing, "");
    p.link.flush();
  }
}

// True once the job has been ended, where on_trouble returns from that.
bool SideHub::look_for_trouble(double now) {
  {
    const std::lock_guard lock(mutex_);
    if (own_expired_) begin_expiry(now, own_state_);
  }
  if (trouble_since_ == 0 && others_wait_for_a_failed_rank(now)) {
    trouble_since_ = now;
    trouble_ = JobFailure::Kind::failed;
  }
  if (cancel_.cancelled() && cancelled_since_ == 0) cancelled_since_ = now;
  if (trouble_since_ > 0) {
    if (!heard_told_ && now - trouble_since_ >= kHeardAfter) {
      heard_told_ = true;
      watchdog_.heard();
      tell_all(frame::kHeard);
    }
    const bool lost = trouble_ == JobFailure::Kind::lost;
    // Under a signal there may be no time left.
    const double grace = cancelled_since_ > 0 ? 0 : lost ? kLostGrace : kExpiredGrace;
    if (now - trouble_since_ < grace) return false;
    tell_all(frame::kEnding);
    report(trouble_);
    return true;
  }
  if (cancelled_since_ > 0 && !cancel_told_ && now - cancelled_since_ > kCancelGrace) {
    cancel_told_ = true;
    report(JobFailure::Kind::cancelled);
  }
  return false;
}

std::vector<RankState> SideHub::states(double now) {
  peers_[0].last = watchdog_.state();
  peers_[0].last_heard = now;
  peers_[0].state = RankLink::connected;
  std::vector<RankState> out;
  for (size_t r = 0; r < peers_.size(); ++r) {
    const Peer& p = peers_[r];
    const double silent = now - p.last_heard;
    out.push_back({.rank = static_cast<int>(r),
                   .host = host_of_[r],
                   .note = p.last.note,
                   .entered = p.last.entered,
                   .left = p.last.iterations,
                   .idle_seconds = p.last.idle_seconds + silent,
                   .silent_seconds = silent,
                   .lost_seconds = p.state == RankLink::lost ? now - p.lost_at : 0,
                   .link = p.state,
                   .failure = p.last.failure,
                   .met = p.last.met});
  }
  peers_[0].state = RankLink::never;
  return out;
}

// Where a rank has failed before, the others waited for it.
void SideHub::begin_expiry(double now, const WatchState& expired) {
  if (trouble_since_ != 0) return;
  trouble_since_ = now;
  expired_ = expired;
  peers_[0].last = watchdog_.state();
  const bool failed = std::any_of(peers_.begin(), peers_.end(),
                                  [](const Peer& p) { return !p.last.failure.empty(); });
  trouble_ = failed ? JobFailure::Kind::failed : JobFailure::Kind::expired;
}

// A rank that fails leaves the others in a collective that it will never enter. One that failed by
// itself, and waits where all meet, keeps nobody who computes.
bool SideHub::others_wait_for_a_failed_rank(double now) {
  peers_[0].last = watchdog_.state();
  bool failed = false, met = true;
  for (const Peer& p : peers_) {
    if (p.last.failure.empty()) continue;
    failed = true;
    met = met && p.last.met;
  }
  for (size_t r = 0; r < peers_.size(); ++r) {
    const Peer& p = peers_[r];
    if (!p.last.failure.empty() || (r > 0 && p.state != RankLink::connected)) continue;
    const double silent = r == 0 ? 0 : now - p.last_heard;
    if (p.last.idle_seconds + silent < options_.failed_grace_seconds) return false;
    if (met && !p.last.met && p.last.entered <= p.last.iterations) return false;
  }
  return failed;
}

void SideHub::report(JobFailure::Kind kind) {
  reception_.close();  // what is told now is also written, for which no descriptor may be missing
  std::vector<RankState> all = states(monotonic_seconds());
  // What failed after the trouble had begun did so because of it.
  if (kind != JobFailure::Kind::failed) {
    for (RankState& r : all) r.failure.clear();
  }
  JobFailure trouble{.kind = kind,
                     .idle_seconds = expired_.idle_seconds,
                     .used_up_seconds = expired_.used_up_seconds};
  trouble.diagnosis = diagnose_hang(all);
  trouble.finished = joined_records();
  if (options_.on_trouble) options_.on_trouble(std::move(trouble));
}

std::vector<Record> SideHub::joined_records() {
  std::vector<std::vector<Record>> published;
  {
    const std::lock_guard lock(mutex_);
    published.push_back(own_records_);
  }
  for (size_t r = 1; r < peers_.size(); ++r) published.push_back(peers_[r].records);
  return join_published(published);
}

// A rank that has not come by the end of the reception publishes nothing: it must not keep the
// others' records back.
void SideHub::keep_finished() {
  size_t complete = 0;
  {
    const std::lock_guard lock(mutex_);
    complete = own_records_.size();
  }
  for (size_t r = 1; r < peers_.size(); ++r) {
    const bool never_comes = peers_[r].state == RankLink::never && !reception_.open();
    if (!never_comes) complete = std::min(complete, peers_[r].records.size());
  }
  keeper_.offer(complete, [this] { return joined_records(); });
}

namespace {

// A rank that failed at a point, or broke off there, has published fewer records of it than others.
std::optional<size_t> share_of(const std::vector<Record>& records, size_t from,
                               const Params& params) {
  for (size_t i = from; i < records.size(); ++i) {
    if (records[i].params == params) return i;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Record> join_published(const std::vector<std::vector<Record>>& published) {
  // Rank 0 holds what belongs to all ranks together: without its share there is no record.
  std::vector<Record> out;
  std::vector<size_t> next(published.size());  // of each rank's records
  for (size_t i = 0; !published.empty() && i < published[0].size(); ++i) {
    std::vector<std::vector<Record>> shares;
    std::vector<int> missing;
    for (size_t r = 0; r < published.size(); ++r) {
      const auto found = share_of(published[r], next[r], published[0][i].params);
      if (found) shares.push_back({published[r][*found]});
      if (found) next[r] = *found + 1;
      if (!found) missing.push_back(static_cast<int>(r));
    }
    Record joined = std::move(join_records(shares).at(0));
    if (!missing.empty()) joined.notes.push_back(said("oob.without_shares", rank_ranges(missing)));
    out.push_back(std::move(joined));
  }
  return out;
}

}  // namespace cb
