#include "bench/harness/oob/spoke.h"

#include <algorithm>
#include <chrono>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/harness/gather.h"
#include "bench/harness/oob/hub.h"
#include "core/clock.h"
#include "core/error.h"
#include "sys/net/tcp_socket.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr double kWaitSeconds = 0.05;
constexpr double kStateSeconds = 0.5;
constexpr double kConnectSeconds = 2;      // per address
constexpr double kConnectForSeconds = 20;  // in all
// Rank 0 pings twice a second.
constexpr double kRootSilentSeconds = 2.5;
// Told of an expiry, rank 0 begins to end the job within a second.
constexpr double kRootBeginsWithin = 6;
// The farewell has this long to get out.
constexpr double kFarewellSeconds = 0.5;

std::string new_token() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

}  // namespace

SideSpoke::SideSpoke(Root root, int rank, Watchdog& watchdog, SideChannelOptions options)
    : root_(std::move(root)), rank_(rank), watchdog_(watchdog), options_(std::move(options)) {
  thread_ = std::thread([this] { loop(); });
}

SideSpoke::~SideSpoke() { close(); }

void SideSpoke::publish(const Record& record) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back({frame::kRecord, pack_record(record)});
}

bool SideSpoke::expired(const WatchState& state) {
  const std::lock_guard lock(mutex_);
  const double now = monotonic_seconds();
  if (expired_at_ == 0) {
    waiting_.push_back({frame::kExpired, state_to_text(state)});
    expired_at_ = now;
  }
  return ending_ || (connected_ && !closing_ && now - last_heard_ < kRootSilentSeconds &&
                     now - expired_at_ < kRootBeginsWithin);
}

void SideSpoke::close(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    if (!closing_) waiting_.push_back({frame::kBye, why});
    closing_ = true;
  }
  if (thread_.joinable()) thread_.join();
}

bool SideSpoke::closing() {
  const std::lock_guard lock(mutex_);
  return closing_;
}

void SideSpoke::loop() {
  if (!connect()) return;
  {
    const std::lock_guard lock(mutex_);
    connected_ = true;
    last_heard_ = monotonic_seconds();
  }
  double end = 0;
  bool alive = true;
  while (alive) {
    alive = exchange();
    if (!closing()) continue;
    // Who says goodbye waits until the other one closes, or has said it too.
    if (end == 0) end = monotonic_seconds() + kFarewellSeconds;
    if ((goodbye_heard_ && !link_.has_output()) || monotonic_seconds() > end) break;
  }
  link_.close();
  const bool surprising = [&] {
    const std::lock_guard lock(mutex_);
    return !closing_ && !ending_;
  }();
  if (surprising && options_.on_root_lost) options_.on_root_lost(root_.host);
}

// Addresses that belong to another network may lead to nobody, or to somebody else's program: the
// token tells.
bool SideSpoke::connect() {
  const double end = monotonic_seconds() + kConnectForSeconds;
  while (monotonic_seconds() < end) {
    for (const Door& door : root_.doors) {
      if (closing()) return false;
      if (try_door(door)) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return false;
}

bool SideSpoke::try_door(const Door& door) {
  Socket socket = start_connect(door.address, static_cast<uint16_t>(door.port));
  if (!socket.open()) return false;
  const double end = monotonic_seconds() + kConnectSeconds;
  for (bool ready = false; !ready;) {
    std::vector<Watched> one{{.fd = socket.fd(), .want_write = true}};
    wait_for_any(one, kWaitSeconds);
    ready = one[0].writable;
    if (closing() || (!ready && monotonic_seconds() > end)) return false;
  }
  if (!connected(socket)) return false;
  FrameLink link(std::move(socket));
  link.queue_greeting(greeting_of(root_.token, rank_));
  if (!await_welcome(link, end)) return false;
  link.trust();
  link_ = std::move(link);
  return true;
}

bool SideSpoke::await_welcome(FrameLink& link, double end) {
  while (monotonic_seconds() < end && !closing()) {
    if (!link.flush() || !link.fill()) return false;
    if (const auto f = link.next()) return f->kind == frame::kWelcome && f->body == root_.token;
    std::vector<Watched> one{{.fd = link.socket().fd()}};
    wait_for_any(one, kWaitSeconds);
  }
  return false;
}

// Sends what waits and a state when one is due, and takes what comes. False at the end of the
// connection.
bool SideSpoke::exchange() {
  std::vector<Frame> out;
  {
    const std::lock_guard lock(mutex_);
    out.swap(waiting_);
  }
  const double now = monotonic_seconds();
  if (now - last_state_ >= kStateSeconds && !closing()) {
    last_state_ = now;
    link_.queue(frame::kState, state_to_text(watchdog_.state()));
  }
  for (const Frame& f : out) link_.queue(f.kind, f.body);
  if (!link_.flush()) return false;
  std::vector<Watched> one{{.fd = link_.socket().fd(), .want_write = link_.has_output()}};
  wait_for_any(one, kWaitSeconds);
  if (!one[0].readable) return true;
  const bool alive = link_.fill();
  while (const auto f = link_.next()) {
    const std::lock_guard lock(mutex_);
    last_heard_ = monotonic_seconds();
    if (f->kind == frame::kBye) closing_ = goodbye_heard_ = true;
    if (f->kind == frame::kHeard) watchdog_.heard();
    if (f->kind == frame::kEnding) ending_ = true;
  }
  return alive;
}

namespace {

// One rank alone: it keeps its records itself and speaks for itself.
class NoChannel final : public SideChannel {
 public:
  NoChannel(std::string host, Watchdog& watchdog, SideChannelOptions options)
      : host_(std::move(host)),
        watchdog_(watchdog),
        options_(std::move(options)),
        keeper_(options_.on_finished) {}

  void publish(const Record& record) override {
    size_t complete = 0;
    {
      const std::lock_guard lock(mutex_);
      records_.push_back(record);
      complete = records_.size();
    }
    keeper_.offer(complete, [this] { return finished(); });
  }

  bool expired(const WatchState& state) override {
    watchdog_.heard();
    JobFailure trouble{.idle_seconds = state.idle_seconds,
                       .used_up_seconds = state.used_up_seconds};
    trouble.diagnosis = diagnose_hang({{.host = host_,
                                        .note = state.note,
                                        .entered = state.entered,
                                        .left = state.iterations,
                                        .idle_seconds = state.idle_seconds}});
    trouble.finished = finished();
    if (options_.on_trouble) options_.on_trouble(std::move(trouble));
    return true;
  }

  void close(const std::string&) override {}

 private:
  std::vector<Record> finished() {
    const std::lock_guard lock(mutex_);
    return join_published({records_});
  }

  std::string host_;
  Watchdog& watchdog_;
  SideChannelOptions options_;
  FinishedKeeper keeper_;
  std::mutex mutex_;
  std::vector<Record> records_;
};

}  // namespace

namespace {

constexpr const char* kLoopbackAddress = "127.0.0.1";

// Rank 0's: loopback for the ranks that share it, and the network only where there are others.
Reception open_reception(const std::vector<std::string>& networks, const std::string& token,
                         const std::string& interface) {
  std::vector<std::string> addresses;
  const auto here = [&](const std::string& network) { return network == networks[0]; };
  if (!std::all_of(networks.begin(), networks.end(), here) || !interface.empty())
    addresses = local_addresses(interface);
  if (std::all_of(networks.begin(), networks.end(), here)) addresses.clear();
  if (std::any_of(networks.begin() + 1, networks.end(), here))
    addresses.insert(addresses.begin(), kLoopbackAddress);
  return Reception(addresses, token, kGreetingBytes);
}

std::vector<Door> doors_from(const json& offer, bool same_network) {
  std::vector<Door> out;
  for (const json& d : offer.at("doors")) {
    if (same_network || d.at(0) != kLoopbackAddress) out.push_back({d.at(0), d.at(1)});
  }
  return out;
}

}  // namespace

std::unique_ptr<SideChannel> open_side_channel(Comm& comm, const RankMap& place, Watchdog& watchdog,
                                               const CancelToken& cancel,
                                               SideChannelOptions options) {
  if (comm.size() == 1)
    return std::make_unique<NoChannel>(place.host, watchdog, std::move(options));
  const std::string network = network_identity();
  const std::vector<std::string> networks = comm.gather(network);
  Reception reception;
  json offer;
  Problems problems;
  std::string token;
  if (comm.is_root()) {
    try {
      allow_open_files(static_cast<uint64_t>(comm.size()) + 1024);
      token = new_token();
      reception = open_reception(networks, token, options.interface);
      json doors = json::array();
      for (const Door& d : reception.doors()) doors.push_back({d.address, d.port});
      offer = {{"doors", std::move(doors)}, {"network", network}, {"token", token}};
    } catch (const UsageError& e) {
      problems = e.problems();
    } catch (const Error& e) {
      problems.add("side channel", e.what());
    }
  }
  throw_agreed(comm, "clusterbench", problems);
  offer = json::parse(comm.broadcast_text(offer.dump()));
  if (comm.is_root())
    return std::make_unique<SideHub>(std::move(reception), token, place, watchdog, cancel,
                                     std::move(options));
  SideSpoke::Root root{.doors = doors_from(offer, offer.at("network") == network),
                       .token = offer.at("token"),
                       .host = place.hosts.at(0)};
  return std::make_unique<SideSpoke>(std::move(root), comm.rank(), watchdog, std::move(options));
}

}  // namespace cb
