#include "bench/network/tcp/transfer.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include <fmt/format.h>
#include <sys/socket.h>

#include "core/clock.h"
#include "core/stats.h"
#include "core/units.h"

namespace cb::tcp {
namespace {

constexpr double kLookSeconds = 0.05;        // interval at which the waiting main thread looks
constexpr double kAcknowledgeSeconds = 0.3;  // three time slices of a blocked thread
constexpr double kWorthwhile = 0.05;         // a smaller gain is noise

using StreamThreads = std::vector<std::unique_ptr<StreamThread>>;

Tally sum_of(const StreamThreads& threads, Phase phase) {
  Tally out;
  for (const auto& c : threads) out.add(c->counters().of(phase));
  return out;
}

using States = std::vector<TcpState>;

// Of all streams together; absent if one does not tell. No counter is negative, those of echoes
// have 32 bits and may run over.
std::optional<double> sent_again_share(const States& before, const States& after) {
  uint64_t sent = 0, again = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    if (!before[i].bytes || !after[i].bytes) return std::nullopt;
    sent += after[i].bytes->sent - before[i].bytes->sent;
    again += after[i].bytes->sent_again - before[i].bytes->sent_again;
  }
  if (sent == 0) return std::nullopt;
  return static_cast<double>(again) / static_cast<double>(sent);
}

std::optional<double> echoed_share(const States& before, const States& after) {
  uint64_t acknowledged = 0, echoed = 0;
  for (size_t i = 0; i < after.size(); ++i) {
    if (!before[i].echoes || !after[i].echoes) return std::nullopt;
    acknowledged +=
        static_cast<uint32_t>(after[i].echoes->acknowledged - before[i].echoes->acknowledged);
    echoed += static_cast<uint32_t>(after[i].echoes->echoed - before[i].echoes->echoed);
  }
  if (acknowledged == 0) return std::nullopt;
  return static_cast<double>(echoed) / static_cast<double>(acknowledged);
}

void nap(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

}  // namespace

ZeroCopyChoice choose_zero_copy(const Tally& copy, const Tally& zero_copy, bool really_zero) {
  if (!really_zero) return {false, said("tcp.copied")};
  if (copy.bytes == 0 || zero_copy.bytes == 0) return {false, said("tcp.nothing_sent")};
  const auto rate = [](const Tally& t) { return static_cast<double>(t.bytes) / t.seconds; };
  const auto cost = [](const Tally& t) {
    return t.cpu_seconds / (static_cast<double>(t.bytes) * 8e-9);
  };
  const double faster = rate(zero_copy) / rate(copy) - 1;
  const double cheaper = 1 - cost(zero_copy) / cost(copy);
  const bool use = faster > kWorthwhile || (cheaper > kWorthwhile && faster > -kWorthwhile);
  return {use, said("tcp.trial", fmt::format("{:+.0f}", faster * 100),
                    fmt::format("{:.4f}", cost(zero_copy)), fmt::format("{:.4f}", cost(copy)))};
}

Transfer::Transfer(const Link& link, const Spec& spec, bool sends, bool receives,
                   const std::function<uint64_t(size_t, bool)>& seed, std::string prefix,
                   size_t cpus, const Until& until)
    : link_(link), spec_(spec), prefix_(std::move(prefix)), until_(until) {
  control_.zero_copy = spec.zero_copy == ZeroCopy::on;
  for (size_t i = 0; i < link.streams.size(); ++i) {
    const int fd = link.streams[i].fd();
    if (sends) senders_.push_back(std::make_unique<Sender>(fd, spec_, seed(i, true), control_));
    if (receives)
      receivers_.push_back(std::make_unique<Receiver>(fd, spec_, seed(i, false), control_));
  }
  distribute(senders_, cpus, sending_);
  distribute(receivers_, cpus, receiving_);
}

template <typename Streams>
void Transfer::distribute(const Streams& streams, size_t cpus, StreamThreads& threads) {
  if (streams.empty()) return;
  std::vector<std::vector<StreamEnd*>> shares(threads_for(streams.size(), cpus));
  for (size_t i = 0; i < streams.size(); ++i) shares[i % shares.size()].push_back(streams[i].get());
  for (auto& share : shares)
    threads.push_back(std::make_unique<StreamThread>(std::move(share), spec_, control_));
}

Transfer::~Transfer() { control_.abort = true; }

void Transfer::require_healthy() const {
  const auto look = [&](const auto& streams) {
    for (size_t i = 0; i < streams.size(); ++i) {
      if (streams[i]->finished() && !streams[i]->failure().empty())
        throw Error(said("tcp.stream_failed", i + 1, link_.peer, streams[i]->failure()));
    }
  };
  look(senders_);
  look(receivers_);
}

// Waits until `time`. The peer may say meanwhile that it is done (its clock runs ahead) or that it
// failed.
void Transfer::pause_until(double time) {
  for (double left = time - monotonic_seconds(); left > 0; left = time - monotonic_seconds()) {
    if (until_.over()) until_.require(said("tcp.transfer_with", link_.peer));
    require_healthy();
    const double slice = std::min(left, kLookSeconds);
    if (peer_done_) {
      nap(slice);
    } else if (slice < 0.001) {
      nap(slice);  // poll() counts in milliseconds
    } else if (word_is_there(link_, slice)) {
      wait_word(link_, Word::done, until_);
      peer_done_ = true;
    }
  }
}

void Transfer::try_both_ways(double begin) {
  control_.phase = Phase::try_copy;
  pause_until(begin + spec_.seconds * kTrialShare);
  control_.phase = Phase::try_zero_copy;
  pause_until(begin + spec_.seconds * 2 * kTrialShare);
  control_.phase = Phase::settle;
  const auto behind = [](const auto& c) { return c->counters().seen() != Phase::settle; };
  const double end = monotonic_seconds() + kAcknowledgeSeconds;
  while (std::any_of(sending_.begin(), sending_.end(), behind) && monotonic_seconds() < end)
    nap(0.001);
  if (std::any_of(sending_.begin(), sending_.end(), behind)) {
    zero_copy_fact_ = said("tcp.zero_copy_off");
    return;
  }
  const bool really =
      std::all_of(senders_.begin(), senders_.end(), [](const auto& s) { return s->zero_copied(); });
  const ZeroCopyChoice choice = choose_zero_copy(sum_of(sending_, Phase::try_copy),
                                                 sum_of(sending_, Phase::try_zero_copy), really);
  control_.zero_copy = choice.use;
  zero_copy_fact_ = said(choice.use ? "tcp.on_because" : "tcp.off_because", choice.why);
}

uint64_t Transfer::received() const {
  return std::accumulate(receivers_.begin(), receivers_.end(), uint64_t{0},
                         [](uint64_t sum, const auto& r) { return sum + r->bytes(); });
}

// Measures each repetition and returns the bytes per second that arrived in it.
std::vector<double> Transfer::windows(double begin) {
  std::vector<double> out;
  double last = monotonic_seconds();
  begin = std::max(begin, last);  // a main thread that is late still measures whole windows
  uint64_t before = received();
  for (int i = 1; i <= spec_.repetitions; ++i) {
    pause_until(begin + spec_.seconds * i / spec_.repetitions);
    const double now = monotonic_seconds();
    const uint64_t bytes = received();
    // A main thread that was delayed past a whole window knows nothing about it.
    if (now - last >= 0.1 * spec_.seconds / spec_.repetitions)
      out.push_back(static_cast<double>(bytes - before) / (now - last));
    last = now;
    before = bytes;
  }
  return out;
}

// Reads a verified stream to its end. Otherwise data on its way is thrown away with the connection:
// over a slow link it could take seconds to arrive.
void Transfer::end_streams() {
  if (!spec_.verify) {
    const linger at_once{1, 0};
    for (const Socket& s : link_.streams)
      setsockopt(s.fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    control_.abort = true;
  }
  for (const auto& c : sending_) c->join();
  for (const auto& r : receivers_) {
    while (!r->finished()) {
      if (until_.over()) until_.require(said("tcp.nothing_more", link_.peer));
      nap(0.001);
    }
  }
  for (const auto& c : receiving_) c->join();
  require_healthy();
  // In a short time one of several streams may starve, but not all of them.
  if (!receivers_.empty() && received() == 0) throw Error(said("tcp.nothing_came", link_.peer));
}

// One-way: both ends get the receiving end's rates. Two-way: they get the sums. An end sends its
// rates after its threads have ended, so the connections may be closed once both have arrived.
std::vector<double> Transfer::exchange_rates(const std::vector<double>& mine) {
  send_word(link_, {Word::result, mine}, until_);
  const std::vector<double> theirs = wait_word(link_, Word::result, until_).values;
  if (senders_.empty()) return mine;
  if (receivers_.empty()) return theirs;
  if (spec_.own_rate) return mine;
  std::vector<double> out(std::min(mine.size(), theirs.size()));
  for (size_t i = 0; i < out.size(); ++i) out[i] = mine[i] + theirs[i];
  return out;
}

std::vector<TcpState> Transfer::states() const {
  std::vector<TcpState> out;
  for (const Socket& s : link_.streams) out.push_back(tcp_state(s.fd()).value_or(TcpState{}));
  return out;
}

void Transfer::add_states(net::PairOutcome& out, const std::vector<TcpState>& before) const {
  if (senders_.empty()) return;
  const std::vector<TcpState> after = states();
  uint64_t retransmits = 0, window = 0;
  std::vector<double> rtts;
  for (size_t i = 0; i < after.size(); ++i) {
    retransmits += after[i].retransmits - before[i].retransmits;
    window += after[i].congestion_window_bytes;
    rtts.push_back(after[i].rtt_seconds);
  }
  out.extra[prefix_ + "retransmits"] = static_cast<double>(retransmits);
  out.extra[prefix_ + "smoothed_rtt_seconds"] = median(rtts);
  const auto share = [&](const char* name, std::optional<double> value) {
    if (value) out.extra[prefix_ + name] = *value;
  };
  share("retransmitted_share", sent_again_share(before, after));
  share("ecn_echo_share", echoed_share(before, after));
  out.facts["ecn"] = said(after[0].echoes ? "tcp.ecn_on" : "tcp.ecn_off");
  out.facts["congestion_window"] = said("tcp.in_all", format_size(static_cast<int64_t>(window)));
  out.facts["segment_bytes"] = std::to_string(after[0].segment_bytes);
  const auto [send, receive] = buffer_sizes(link_.streams[0].fd());
  out.facts["socket_buffers"] = said("tcp.buffers", format_size(send), format_size(receive));
  out.facts["congestion_control"] = congestion_control(link_.streams[0].fd());
  out.facts["zero_copy"] = zero_copy_fact_;
  out.facts["threads"] = said("tcp.threads", sending_.size(), senders_.size());
}

void Transfer::add_cpu(net::PairOutcome& out) const {
  const auto add = [&](const StreamThreads& threads, const char* name) {
    const Tally t = sum_of(threads, Phase::measured);
    if (t.bytes > 0)
      out.extra[prefix_ + name] = t.cpu_seconds / (static_cast<double>(t.bytes) * 8e-9);
  };
  add(sending_, "send_cpu_per_gigabit_seconds");
  add(receiving_, "receive_cpu_per_gigabit_seconds");
}

void Transfer::lose(double share) const {
  for (const auto& r : receivers_) lose_arriving(r->fd(), share);
}

void Transfer::run(net::PairOutcome& out) {
  if (spec_.loss > 0) lose(spec_.loss);
  for (const auto& c : receiving_) c->start();
  send_word(link_, {Word::ready}, until_);
  wait_word(link_, Word::ready, until_);
  const std::vector<TcpState> before = states();
  const double begin = monotonic_seconds();
  for (const auto& c : sending_) c->start();
  pause_until(begin + spec_.seconds * kWarmShare);
  zero_copy_fact_ = spec_.zero_copy == ZeroCopy::on ? said("tcp.zero_copy_on") : said("tcp.off");
  if (tries_zero_copy(spec_) && !senders_.empty())
    try_both_ways(begin + spec_.seconds * kWarmShare);
  const double measured_from = begin + warm_up_seconds(spec_);
  pause_until(measured_from);
  control_.phase = Phase::measured;
  std::vector<double> rates;
  if (receivers_.empty())
    pause_until(measured_from + spec_.seconds);
  else
    rates = windows(measured_from);
  if (spec_.loss > 0) lose(0);  // the end of a stream arrives, whatever was lost before
  if (!receivers_.empty()) send_word(link_, {Word::done}, until_);
  if (!senders_.empty() && !peer_done_) wait_word(link_, Word::done, until_);
  add_states(out, before);
  control_.phase = Phase::over;
  end_streams();
  out.bytes_per_second = exchange_rates(rates);
  add_cpu(out);
  if (!spec_.verify || receivers_.empty()) return;
  out.wrong_data = Said();
  for (size_t i = 0; i < receivers_.size(); ++i) {
    if (const auto at = receivers_[i]->wrong_at(); at && out.wrong_data->empty())
      out.wrong_data = said("tcp.wrong_stream", link_.peer, i + 1, *at);
  }
}

}  // namespace cb::tcp
