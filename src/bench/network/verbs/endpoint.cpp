#include "bench/network/verbs/endpoint.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>

#include <fmt/format.h>

#include "bench/network/verbs/completion.h"
#include "bench/network/verbs/latency.h"
#include "sys/cpu/ticks.h"

namespace cb::verbs {
namespace {

bool sends(const Spec& spec, const net::PairJob& job) {
  return job.task.sends || spec.two_way || (spec.latency && !is_round_trip(spec.verb));
}

bool receives(const Spec& spec, const net::PairJob& job) {
  return spec.verb == Verb::send && (!job.task.sends || spec.two_way || spec.latency);
}

// Seeds of the two directions: 1 for messages of the pair's sender, 2 for messages to it.
uint64_t direction(bool sender) { return sender ? 1 : 2; }

}  // namespace

VerbsEndpoint::VerbsEndpoint(std::shared_ptr<const Device> device, const Spec& spec,
                             const net::PairJob& job, const CancelToken& cancel)
    : job_(job),
      spec_(spec),
      cancel_(cancel),
      link_(std::move(device), spec, sends(spec, job), receives(spec, job)) {}

void VerbsEndpoint::connect(const std::string& peer_address, double) {
  link_.connect(Address::parse(peer_address));
  fill_payload(link_, direction(job_.task.sends), direction(!job_.task.sends));
  link_.memory().push();
}

// Adds the CPU seconds per gigabit of this end, if data moved in the timed part.
void VerbsEndpoint::add_cost(double cpu_seconds, double bytes, net::PairOutcome& out) const {
  constexpr double kGigabit = 1e9 / 8;
  if (bytes <= 0) return;
  const char* name =
      job_.task.sends ? "send_cpu_per_gigabit_seconds" : "receive_cpu_per_gigabit_seconds";
  out.extra[name] = cpu_seconds / (bytes / kGigabit);
}

net::PairOutcome VerbsEndpoint::run(double deadline_seconds) {
  net::PairOutcome out;
  Idle idle(deadline_seconds, link_.device().soft(), cancel_);
  try {
    link_.control().barrier(idle);
    spec_.latency ? ping_pong(idle, out) : stream(idle, out);
    add_facts(out);
  } catch (const Flushed& e) {
    out = fail_with(e.what() + word_of_peer());
  } catch (const std::exception& e) {
    out = fail_with(said_by(e));
  }
  return out;
}

// Tells the other end, too.
net::PairOutcome VerbsEndpoint::fail_with(const Said& why) {
  net::PairOutcome out;
  out.failure = why;
  Message last;
  last.kind = Message::failed;
  std::strncpy(last.text, why.text().c_str(), sizeof(last.text) - 1);
  try {
    link_.control().send(last);
  } catch (const Error&) {
    // The connection is what failed: the other end notices it by itself.
  }
  return out;
}

// If this end's requests were only flushed, the other end may know the cause and says so at once.
std::string VerbsEndpoint::word_of_peer() {
  constexpr double kPatienceSeconds = 0.2;
  const double end = monotonic_seconds() + kPatienceSeconds;
  try {
    while (monotonic_seconds() < end) {
      const auto message = link_.control().try_receive();
      if (message && message->kind == Message::failed)
        return std::string("; the other end says: ") + message->text;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (const Error&) {
    // This connection is broken too, so nothing can arrive.
  }
  return "";
}

void VerbsEndpoint::stream(Idle& idle, net::PairOutcome& out) {
  Stream stream(link_, job_.task.sends || spec_.two_way, receives(spec_, job_));
  const auto depth = static_cast<uint64_t>(spec_.depth);
  const uint64_t warm_up = spec_.iterations > 0 ? std::min(depth, spec_.iterations) : depth;
  uint64_t from_peer = stream.run(warm_up, 0, idle).peer_sent;
  const double cpu_before = thread_busy_seconds();
  uint64_t moved = 0;
  for (int i = 0; i < spec_.repetitions; ++i) {
    const Stream::Result r = stream.run(spec_.iterations, spec_.seconds / spec_.repetitions, idle);
    double rate = 0;
    if (r.seconds > 0) rate += static_cast<double>(r.sent) / r.seconds;
    if (r.peer_seconds > 0) rate += static_cast<double>(r.peer_sent) / r.peer_seconds;
    if (spec_.two_way && r.peer_seconds > 0)
      out.arriving_bytes_per_second.push_back(static_cast<double>(r.peer_sent * spec_.bytes) /
                                              r.peer_seconds);
    out.messages_per_second.push_back(rate);
    out.bytes_per_second.push_back(rate * static_cast<double>(spec_.bytes));
    from_peer += r.peer_sent;
    moved += r.sent + r.peer_sent;
  }
  add_cost(thread_busy_seconds() - cpu_before, static_cast<double>(moved * spec_.bytes), out);
  if (receives(spec_, job_) && spec_.service != Service::rc)
    out.extra["lost_messages"] = static_cast<double>(from_peer - stream.received());
  const bool takes = receives(spec_, job_);
  // What is written arrives without a word: only the other end has counted it.
  const Counts of_each = spec_.verb == Verb::read ? stream.sent_by_pair()
                         : takes                  ? stream.received_by_pair()
                                 : Counts(link_.pairs(), stream.fewest_from_peer());
  verify(takes ? stream.received() : from_peer, of_each, out);
}

void VerbsEndpoint::ping_pong(Idle& idle, net::PairOutcome& out) {
  PingPong exchange(link_, job_.task.sends);
  PingPong::Result r = exchange.run(spec_.iterations, spec_.seconds, idle);
  out.latency_seconds = std::move(r.seconds);
  verify(r.peer, Counts(link_.pairs(), spec_.verb == Verb::read ? r.messages : r.peer), out);
}

void VerbsEndpoint::verify(uint64_t arrived, const Counts& of_each, net::PairOutcome& out) {
  if (!is_target(spec_, job_.task.sends)) return;
  const bool lost = std::ranges::all_of(of_each, [](uint64_t count) { return count == 0; });
  if (lost && spec_.service != Service::rc) return;  // nothing to compare
  link_.memory().pull();
  if (spec_.corrupt) spoil(landing_of(link_), of_each);
  // An end reads from the peer's `out`, which is filled in the same way as for sending.
  out.wrong_data = is_atomic(spec_.verb)
                       ? check_atomics(link_, arrived)
                       : check_payload(link_, direction(!job_.task.sends), of_each);
}

void VerbsEndpoint::add_facts(net::PairOutcome& out) const {
  out.facts["mtu_bytes"] = std::to_string(link_.mtu());
  out.facts["memory"] = link_.memory().how();
  if (sends(spec_, job_)) out.facts["inline_bytes"] = std::to_string(link_.inline_bytes());
  if (const RdmaGid* gid = link_.gid(); gid != nullptr && link_.device().info.ethernet())
    out.facts["gid"] = fmt::format("index {}, {}{}", gid->index,
                                   gid->roce == RoceVersion::v2 ? "RoCE v2" : "RoCE v1",
                                   gid->is_ipv4() ? ", IPv4" : ", IPv6");
}

}  // namespace cb::verbs
