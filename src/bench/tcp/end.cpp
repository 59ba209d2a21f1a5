// TCP between hosts: streams timed at their receiver over windows, and ping-pong.
#include "bench/tcp/end.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <random>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "core/clock.h"
#include "sys/ticks.h"

namespace cb::tcp {
namespace {

constexpr double kLookSeconds = 0.1;    // a blocked call looks around so often
constexpr double kWarmUpSeconds = 0.3;  // slow start; no part of any window
constexpr uint64_t kCheckOneIn = 64;    // received pieces; comparing all would cost bandwidth
constexpr int kControl = -1;

// The first thing on every connection: whose it is.
struct Hello {
  uint64_t token = 0;
  int32_t index = 0;  // of the stream, kControl
  int32_t towards_sender = 0;
};

double thread_cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace

std::vector<std::byte> make_pattern(uint64_t bytes) {
  std::vector<std::byte> out(bytes);
  uint64_t state = 0x9e3779b97f4a7c15ULL;
  for (std::byte& b : out) {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    b = static_cast<std::byte>(state >> 56);
  }
  return out;
}

TcpEnd::TcpEnd(net::Interface interface, const Spec& spec, const net::PairJob& job,
               const CancelToken& cancel)
    : interface_(std::move(interface)),
      spec_(spec),
      job_(job),
      cancel_(cancel),
      token_((uint64_t{std::random_device{}()} << 32U) | std::random_device{}()),
      pattern_(make_pattern(spec.bytes)) {
  if (!job.task.sends) listener_ = net::listen_on(interface_.address, 4 * spec.streams + 8);
  pattern_.insert(pattern_.end(), pattern_.begin(), pattern_.end());
}

double TcpEnd::left() const { return std::max(0.0, end_ - monotonic_seconds()); }

std::string TcpEnd::address() {
  return fmt::format("{} {} {}", interface_.address, listener_.open() ? net::port_of(listener_) : 0,
                     token_);
}

// The sender connects everything; the peer's kernel takes the connections before the peer asks.
void TcpEnd::connect(const std::string& peer_address, double deadline_seconds) {
  if (!job_.task.sends) return;
  std::istringstream in(peer_address);
  std::string address;
  uint16_t port = 0;
  in >> address >> port >> token_;
  if (!in) throw Error("malformed address from the other end: " + peer_address);
  const double end = monotonic_seconds() + deadline_seconds;
  const auto open = [&](int index, bool towards_sender) {
    net::Socket socket = net::connect_to(interface_.address, address, port,
                                         std::max(0.1, end - monotonic_seconds()));
    net::set_no_delay(socket);
    const Hello hello{token_, index, towards_sender ? 1 : 0};
    net::send_all(socket, std::as_bytes(std::span(&hello, 1)), deadline_seconds);
    return socket;
  };
  control_.set(open(kControl, false));
  for (int i = 0; i < spec_.streams; ++i) {
    out_.push_back(open(i, false));
    if (spec_.two_way) in_.push_back(open(i, true));
  }
}

void TcpEnd::accept_streams() {
  const size_t wanted = static_cast<size_t>(spec_.streams) * (spec_.two_way ? 2 : 1) + 1;
  size_t have = 0;
  while (have < wanted) {
    net::Socket socket = net::accept_one(listener_, left());
    Hello hello;
    net::receive_all(socket, std::as_writable_bytes(std::span(&hello, 1)), left());
    if (hello.token != token_) continue;  // not ours
    net::set_no_delay(socket);
    ++have;
    if (hello.index == kControl)
      control_.set(std::move(socket));
    else
      (hello.towards_sender != 0 ? out_ : in_).push_back(std::move(socket));
  }
}

net::PairOutcome TcpEnd::run(double deadline_seconds) {
  net::PairOutcome out;
  end_ = monotonic_seconds() + deadline_seconds;
  try {
    if (!job_.task.sends) accept_streams();
    control_.barrier(left());
    spec_.latency ? ping_pong(out) : stream(out);
    if (spec_.verify && checked_ > 0) out.wrong_data = wrong_;
  } catch (const std::exception& e) {
    out = {};
    out.failure = e.what();
    try {
      control_.send_failure(e.what());
    } catch (const Error&) {
      // The peer notices by itself.
    }
  }
  return out;
}

void TcpEnd::send_loop(Stream& stream) {
  const net::Socket& socket = *stream.socket;
  net::set_timeouts(socket, kLookSeconds);
  const bool zero_copy = spec_.zero_copy && net::ZeroCopySender::enable(socket);
  uint64_t at = 0;
  while (!stop_.load(std::memory_order_relaxed) && monotonic_seconds() < end_) {
    const std::span<const std::byte> piece{pattern_.data() + at % spec_.bytes, spec_.bytes};
    const long n = zero_copy ? net::ZeroCopySender::send(socket, piece)
                             : ::send(socket.fd(), piece.data(), piece.size(), MSG_NOSIGNAL);
    if (n > 0) {
      at += static_cast<uint64_t>(n);
      stream.bytes.store(at, std::memory_order_relaxed);
    } else if (errno != EAGAIN && errno != EINTR) {
      stream.failure = fmt::format("send: {}", std::strerror(errno));
      break;
    }
  }
  ::shutdown(socket.fd(), SHUT_WR);
  stream.cpu_seconds = thread_cpu_seconds();
}

void TcpEnd::receive_loop(Stream& stream) {
  const net::Socket& socket = *stream.socket;
  net::set_timeouts(socket, kLookSeconds);
  std::vector<std::byte> buffer(spec_.bytes);
  uint64_t at = 0, piece = 0;
  while (monotonic_seconds() < end_) {
    const ssize_t n = ::recv(socket.fd(), buffer.data(), buffer.size(), 0);
    if (n == 0) break;
    if (n > 0) {
      const auto got = std::span(buffer).first(static_cast<size_t>(n));
      if (spec_.verify && piece++ % kCheckOneIn == 0) check(stream, got);
      at += static_cast<uint64_t>(n);
      stream.bytes.store(at, std::memory_order_relaxed);
    } else if (errno != EAGAIN && errno != EINTR) {
      stream.failure = fmt::format("receive: {}", std::strerror(errno));
      break;
    }
  }
  stream.cpu_seconds = thread_cpu_seconds();
}

void TcpEnd::check(Stream& stream, std::span<std::byte> got) {
  if (spec_.corrupt) got[got.size() / 2] ^= static_cast<std::byte>(0x10);
  const uint64_t at = stream.bytes.load(std::memory_order_relaxed);
  const std::byte* wanted = pattern_.data() + at % spec_.bytes;
  const bool right = std::memcmp(got.data(), wanted, got.size()) == 0;
  const std::lock_guard lock(mutex_);
  ++checked_;
  if (right || !wrong_.empty()) return;
  const auto [mine, theirs] = std::mismatch(got.begin(), got.end(), wanted);
  wrong_ = fmt::format("{}: byte {} of a stream is 0x{:02x}, sent was 0x{:02x}", job_.name,
                       at + static_cast<uint64_t>(mine - got.begin()), static_cast<int>(*mine),
                       static_cast<int>(*theirs));
}

// What arrives here, over one window after the other; empty if nothing arrives here.
std::vector<double> TcpEnd::sample_windows() {
  std::vector<double> out;
  if (!incoming()) return out;
  const auto arrived = [this] {
    uint64_t sum = 0;
    for (const Stream& s : streams_) sum += s.outgoing ? 0 : s.bytes.load();
    return static_cast<double>(sum);
  };
  const auto pause = [this](double seconds) {
    const double until = monotonic_seconds() + seconds;
    while (monotonic_seconds() < std::min(until, end_) && !cancel_.cancelled())
      std::this_thread::sleep_for(std::chrono::duration<double>(
          std::clamp(until - monotonic_seconds(), 0.0, kLookSeconds)));
  };
  pause(std::min(kWarmUpSeconds, spec_.seconds / 2));
  double bytes = arrived(), at = raw_seconds();
  for (int i = 0; i < spec_.repetitions; ++i) {
    pause(spec_.seconds / spec_.repetitions);
    const double now = raw_seconds(), have = arrived();
    out.push_back((have - bytes) / (now - at));
    at = now;
    bytes = have;
  }
  return out;
}

void TcpEnd::stream(net::PairOutcome& out) {
  streams_.clear();
  const auto add = [this](const net::Socket& socket, bool outgoing) {
    Stream& s = streams_.emplace_back();
    s.socket = &socket;
    s.outgoing = outgoing;
  };
  for (const net::Socket& s : out_) add(s, true);
  for (const net::Socket& s : in_) add(s, false);
  std::vector<std::thread> threads;
  for (Stream& s : streams_)
    threads.emplace_back([this, &s] { s.outgoing ? send_loop(s) : receive_loop(s); });
  std::vector<double> mine, theirs;
  std::string failure;
  try {
    mine = sample_windows();
    control_.send(mine);
    theirs = control_.receive(left());
  } catch (const std::exception& e) {
    failure = e.what();
    end_ = 0;  // the threads need not wait any longer
  }
  stop_ = true;
  for (std::thread& t : threads) t.join();
  for (const Stream& s : streams_) failure = failure.empty() ? s.failure : failure;
  if (!failure.empty()) throw Error(failure);
  for (size_t i = 0; i < std::max(mine.size(), theirs.size()); ++i)
    out.bytes_per_second.push_back((i < mine.size() ? mine[i] : 0) +
                                   (i < theirs.size() ? theirs[i] : 0));
  if (spec_.two_way) out.arriving_bytes_per_second = mine;
  if (*std::max_element(out.bytes_per_second.begin(), out.bytes_per_second.end()) <= 0)
    throw Error("connected, and then nothing arrived");
  add_costs(out);
}

void TcpEnd::add_costs(net::PairOutcome& out) {
  constexpr double kGigabit = 1e9 / 8;
  for (const bool outgoing : {true, false}) {
    double cpu = 0, bytes = 0;
    for (const Stream& s : streams_) {
      if (s.outgoing != outgoing) continue;
      cpu += s.cpu_seconds;
      bytes += static_cast<double>(s.bytes.load());
    }
    if (bytes > 0)
      out.extra[outgoing ? "sender_cpu_seconds_per_gigabit" : "receiver_cpu_seconds_per_gigabit"] =
          cpu / (bytes / kGigabit);
  }
  double retransmissions = 0, rtt = 0, window = 0;
  size_t known = 0;
  for (const net::Socket& s : out_) {
    const auto info = net::connection_info(s);
    if (!info) continue;
    ++known;
    retransmissions += static_cast<double>(info->retransmissions);
    rtt = std::max(rtt, info->rtt_seconds);
    window += static_cast<double>(info->window_bytes);
  }
  if (known == 0) return;
  out.extra["retransmissions"] = retransmissions;
  out.extra["smoothed_rtt_seconds"] = rtt;
  out.extra["congestion_window_bytes"] = window;
}

void TcpEnd::begin(net::PairOutcome& out) {
  constexpr int kWarmUp = 20;
  const net::Socket& socket = out_.at(0);
  std::vector<std::byte> answer(spec_.bytes);
  const auto message = std::span(pattern_).first(spec_.bytes);
  const auto once = [&] {
    size_t at = 0;
    if (::send(socket.fd(), message.data(), message.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(message.size()))
      throw Error(fmt::format("send: {}", std::strerror(errno)));
    while (at < answer.size()) {
      const ssize_t n = ::recv(socket.fd(), answer.data() + at, answer.size() - at, 0);
      if (n == 0) throw Error("the peer has closed the connection");
      if (n < 0 && errno != EAGAIN && errno != EINTR)
        throw Error(fmt::format("receive: {}", std::strerror(errno)));
      if (n < 0 && left() <= 0) throw Error("no answer within the deadline");
      if (n > 0) at += static_cast<size_t>(n);
    }
  };
  for (int i = 0; i < kWarmUp; ++i) once();
  const double until = raw_seconds() + spec_.seconds;
  const TickScale scale;
  std::vector<uint64_t> ticks;
  for (uint64_t i = 0; spec_.iterations > 0 ? i < spec_.iterations : raw_seconds() < until; ++i) {
    const uint64_t from = ticks_now();
    once();
    ticks.push_back(ticks_now() - from);
  }
  const double unit = scale.seconds_per_tick() / 2;
  for (const uint64_t t : ticks) out.latency_seconds.add(static_cast<double>(t) * unit);
  ++checked_;
  if (std::memcmp(answer.data(), message.data(), answer.size()) != 0)
    wrong_ = job_.name + ": the answer is not what was sent";
}

void TcpEnd::answer() {
  const net::Socket& socket = in_.at(0);
  std::vector<std::byte> buffer(spec_.bytes);
  for (size_t at = 0;;) {
    const ssize_t n = ::recv(socket.fd(), buffer.data() + at, buffer.size() - at, 0);
    if (n == 0) return;  // the peer has finished
    if (n < 0 && errno != EAGAIN && errno != EINTR)
      throw Error(fmt::format("receive: {}", std::strerror(errno)));
    if (left() <= 0) throw Error("the peer has not finished within the deadline");
    if (n > 0 && (at += static_cast<size_t>(n)) == buffer.size()) {
      at = 0;
      if (spec_.corrupt) buffer[buffer.size() / 2] ^= static_cast<std::byte>(0x10);
      net::send_all(socket, buffer, left());
    }
  }
}

void TcpEnd::ping_pong(net::PairOutcome& out) {
  const net::Socket& socket = job_.task.sends ? out_.at(0) : in_.at(0);
  net::set_timeouts(socket, kLookSeconds);
  if (job_.task.sends) {
    begin(out);
    ::shutdown(socket.fd(), SHUT_WR);
  } else {
    answer();
  }
  control_.barrier(left());
}

}  // namespace cb::tcp
