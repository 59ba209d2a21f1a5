#include "bench/collectives/moe/session.h"

#include <bit>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "bench/collectives/group_clock.h"
#include "core/clock.h"

namespace cb::moe {
namespace {

// Wrong data: nothing that follows would mean anything. Thrown on every rank after the same step.
struct WrongExchange {};

constexpr uint64_t kFirstData = 1;
constexpr const char* kCounting = "counting";
constexpr const char* kPacked = "packed";

const std::vector<std::string>& part_names() {
  static const std::vector<std::string> names{"dispatch", "dispatch rows", "combine",
                                              "combine rows"};
  return names;
}

}  // namespace

MoeSession::MoeSession(Context& context, const MoePoint& point, const GroupComm& group,
                       ExpertExchange& exchange)
    : context_(context), point_(point), group_(group), exchange_(exchange) {}

Exchanged MoeSession::run() {
  try {
    for (int i = 1; i <= point_.checks; ++i) check("coll.before", i, ++iteration_);
    sample();
    for (int i = 1; i < point_.checks; ++i) check("coll.after", i, ++iteration_);
    // The first data once more: whatever is the same must give the same bits.
    check("coll.after", point_.checks, kFirstData);
    out_.measured = true;
    compare_ranks();
  } catch (const WrongExchange&) {
    out_.measured = false;
  }
  return std::move(out_);
}

void MoeSession::check(const std::string& id, int number, uint64_t data) {
  // Only one rank may have got the signal: all ranks stop, or none.
  if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
  const Said what = said(id, number);
  context_.watchdog.note(point_.plan.what + ", " + what.text());
  exchange_.prepare(data);
  cycle(&what, nullptr);
  if (data == kFirstData) look_at_digest();
}

void MoeSession::look_at_digest() {
  const uint64_t now = exchange_.digest();
  if (out_.digest == 0) {
    out_.digest = now;
    return;
  }
  out_.looked_at_digest = true;
  const bool same = out_.digest == now;
  if (!same) out_.wrong_digest = said("moe.not_repeated", context_.who());
  meet(!same);
}

void MoeSession::sample() {
  SamplePlan plan = point_.plan;
  plan.spans = part_names();
  plan.spans.push_back(kCounting);
  plan.spans.push_back(kPacked);
  plan.begin = [this] { warm_ = true; };
  GroupClock clock(group_);
  // Of the cycles that warm up nothing is looked at: those before have been.
  const SampleRun run = context_.sampler.measure_spans(plan, [this](Spans& spans) {
    const bool verified = warm_ && std::has_single_bit(++timed_);
    if (verified) exchange_.prepare(++iteration_);
    const Said what = said("coll.timed", timed_);
    return cycle(verified ? &what : nullptr, &spans);
  });
  clock.end();
  out_.late_counts = clock.late(run.spans.of(kCounting));
  out_.late = clock.late(run.spans.of(kPacked));
  PartTimes* const parts[] = {&out_.dispatch, &out_.dispatch_rows, &out_.combine,
                              &out_.combine_rows};
  for (size_t i = 0; i < part_names().size(); ++i) parts[i]->own = run.spans.of(part_names()[i]);
}

// Seconds of dispatch and combine. Data is looked at, and made by the experts, in verified ones
// only.
double MoeSession::cycle(const Said* verified, Spans* spans) {
  std::vector<double> seconds;
  seconds.push_back(timed(0, [this] { exchange_.dispatch(); }));
  if (spans != nullptr) {
    spans->add(kCounting, exchange_.counting_at());
    spans->add(kPacked, exchange_.packed_at());
  }
  if (verified) {
    verify_dispatch(*verified);
    exchange_.poison_rows();
  }
  seconds.push_back(timed(1, [this] { exchange_.dispatch_rows(); }));
  if (verified) {
    verify_dispatch(*verified);
    exchange_.run_experts();
    context_.watchdog.progress();
  }
  seconds.push_back(timed(2, [this] { exchange_.combine(); }));
  if (verified) {
    verify_combine(*verified);
    exchange_.poison_returned();
  }
  seconds.push_back(timed(3, [this] { exchange_.combine_rows(); }));
  if (verified) {
    exchange_.add_rows();
    verify_combine(*verified);
  }
  for (size_t i = 0; spans != nullptr && i < seconds.size(); ++i)
    spans->add(part_names()[i], seconds[i]);
  return seconds[0] + seconds[2];
}

// The pause comes after the barrier, so that the call's own messages are the first ones. A rank
// whose device has failed before says so before the others begin what it takes part in.
double MoeSession::timed(size_t part, const std::function<void()>& call) {
  exchange_.announce(part_names()[part]);
  context_.watchdog.enter();
  exchange_.agree();
  group_.barrier();
  if (point_.idle_seconds > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(point_.idle_seconds));
  const double start = monotonic_seconds();
  call();
  const double seconds = exchange_.device_seconds().value_or(monotonic_seconds() - start);
  exchange_.agree();
  context_.watchdog.progress();
  return seconds;
}

bool MoeSession::spoils(FaultKind kind) const {
  return point_.fault && point_.fault->kind == kind && point_.fault->rank == context_.comm.rank();
}

void MoeSession::meet(bool wrong) {
  context_.watchdog.progress();
  context_.watchdog.enter();
  exchange_.agree();
  if (context_.comm.any(wrong)) throw WrongExchange();
}

void MoeSession::verify_dispatch(const Said& call) {
  if (spoils(FaultKind::element)) exchange_.flip_element();
  if (spoils(FaultKind::token)) exchange_.drop_token();
  if (spoils(FaultKind::expert)) exchange_.swap_expert();
  ++out_.verified;
  out_.wrong_dispatch = exchange_.verify_dispatch();
  if (out_.wrong_dispatch)
    out_.wrong_dispatch->text = said("moe.wrong_dispatch", context_.who(), call,
                                     out_.wrong_dispatch->text, out_.wrong_dispatch->count);
  meet(out_.wrong_dispatch.has_value());
}

void MoeSession::verify_combine(const Said& call) {
  if (spoils(FaultKind::sum)) exchange_.flip_sum();
  out_.looked_at_combine = true;
  out_.wrong_combine = exchange_.verify_combine();
  if (out_.wrong_combine)
    out_.wrong_combine->text = said("moe.wrong_combine", context_.who(), call,
                                    out_.wrong_combine->text, out_.wrong_combine->count);
  meet(out_.wrong_combine.has_value());
}

void MoeSession::compare_ranks() {
  for (PartTimes* part : {&out_.dispatch, &out_.dispatch_rows, &out_.combine, &out_.combine_rows}) {
    part->slowest = group_.max(part->own);
    part->fastest = group_.min(part->own);
  }
}

}  // namespace cb::moe
