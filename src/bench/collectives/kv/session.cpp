#include "bench/collectives/kv/session.h"

#include <algorithm>
#include <limits>

#include "bench/collectives/nccl/failure_words.h"
#include "core/clock.h"

namespace cb::kv {
namespace {

// Wrong data, or a transfer that failed elsewhere: nothing that follows would mean anything. Thrown
// on every rank after the same step.
struct TransferEnded {};

const std::vector<std::string>& kv_spans() {
  static const std::vector<std::string> names{"pages", "first layer", "longest layer", "plain"};
  return names;
}

uint64_t origin_of_staging(const CacheShape& shape) {
  return static_cast<uint64_t>(shape.bytes()) + PagePool::kGuardBytes;
}

// The longest time between two acknowledgements, the first counted from the start.
double longest_gap(const std::vector<double>& at) {
  double before = 0, longest = 0;
  for (const double t : at) {
    longest = std::max(longest, t - before);
    before = t;
  }
  return longest;
}

}  // namespace

Tables tables_of(const KvPoint& point, int pair) {
  const int64_t pages = point.shape.pages();
  if (!point.scatter) return {blocks_in_order(pages), blocks_in_order(pages)};
  const uint64_t seed = point.seed * 1000003 + 2 * static_cast<uint64_t>(pair);
  return {blocks_scattered(pages, seed), blocks_scattered(pages, seed + 1)};
}

TransferPlan plan_of(const KvPoint& point, const Tables& tables) {
  const uint64_t most = point.most_of_message;
  return point.pack
             ? packed(point.shape, tables.from, tables.to, origin_of_staging(point.shape), most)
             : by_pages(point.shape, tables.from, tables.to, point.join, most);
}

uint64_t memory_of_end(const KvPoint& point) {
  const auto staging = point.pack ? 2 * static_cast<uint64_t>(point.shape.layer_bytes()) : 0;
  return PagePool::memory_bytes(point.shape, staging);
}

double patience_of_end(const KvPoint& point) {
  constexpr double kMargin = 30, kSlowBytesPerSecond = 100e6;
  return kMargin + static_cast<double>(point.shape.bytes()) / kSlowBytesPerSecond;
}

KvSession::KvSession(Context& context, const KvPoint& point, const GroupComm& group,
                     const Seat& seat, PageWire& wire, const PageData& data)
    : context_(context),
      point_(point),
      group_(group),
      seat_(seat),
      wire_(wire),
      tables_(tables_of(point, seat.pair)),
      pages_(plan_of(point, tables_)),
      plain_(plain(point.shape, point.most_of_message)),
      pool_(wire.memory(), data) {
  const Watchdog::Bounded filling(context_.watchdog, patience_of_end(point_));
  if (seat_.sends) pool_.fill(tables_.from, transfer_);
}

Transferred KvSession::run() {
  SamplePlan plan = point_.plan;
  plan.spans = kv_spans();
  try {
    const SampleRun run =
        context_.sampler.measure_spans(plan, [this](Spans& spans) { return cycle(spans); });
    out_.measured = true;
    if (seat_.sends) {
      out_.seconds = run.spans.of("pages");
      out_.first_layer = run.spans.of("first layer");
      out_.longest_layer = run.spans.of("longest layer");
      out_.plain = run.spans.of("plain");
    }
    compare_pairs();
  } catch (const TransferEnded&) {
    // A transfer that was cut short by a signal has failed, too.
    if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
  }
  if (!failure_.empty()) throw Error(failure_);
  return std::move(out_);
}

// Pages and plain messages in turn, so that both see the same state of the machine.
double KvSession::cycle(Spans& spans) {
  const std::vector<double> paged = transfer(pages_, tables_.to, true);
  // Plain messages leave each page in the block that it has at the sender.
  const std::vector<double> plain = transfer(plain_, tables_.from, false);
  spans.add("pages", paged.back());
  spans.add("first layer", paged.front());
  spans.add("longest layer", longest_gap(paged));
  spans.add("plain", plain.back());
  return paged.back();
}

std::vector<double> KvSession::transfer(const TransferPlan& plan, const BlockTable& at_receiver,
                                        bool spoiled) {
  prepare();
  on_wire([this] { wire_.load(); });
  // The other end would wait for one that has nothing to send, or nowhere to put it.
  if (any_ended()) throw TransferEnded();
  std::vector<double> at = take_turns(plan);
  on_wire([this] { wire_.unload(); });
  if (!failed()) {
    const Watchdog::Bounded looking(context_.watchdog, patience_of_end(point_));
    if (spoiled) spoil();
    verify(seat_.sends ? tables_.from : at_receiver);
  }
  context_.watchdog.progress();
  context_.watchdog.enter();
  if (any_ended()) throw TransferEnded();
  context_.watchdog.progress();
  return at;
}

// Who has no partner, is done or has failed waits here until the other pairs' deadlines.
bool KvSession::any_ended() {
  const Watchdog::Bounded others(context_.watchdog, point_.transfer_deadline);
  return context_.comm.any(out_.wrong.has_value() || failed());
}

void KvSession::prepare() {
  ++transfer_;
  if (seat_.sends)
    pool_.label(tables_.from, transfer_);
  else
    pool_.poison();
}

std::vector<double> KvSession::take_turns(const TransferPlan& plan) {
  std::vector<double> at{0};
  for (int turn = 0; turn < (point_.one_at_a_time ? seat_.pairs : 1); ++turn) {
    context_.watchdog.enter();
    meet_for_turn();
    const bool mine = !point_.one_at_a_time || turn == seat_.pair;
    if (mine && !seat_.idle) at = move(plan);
    context_.watchdog.progress();
  }
  return at;
}

// The pair whose turn it was has its deadline.
void KvSession::meet_for_turn() {
  const Watchdog::Bounded turn(context_.watchdog, point_.transfer_deadline);
  group_.barrier();
}

// Of the sender: seconds until each layer had come. The receiver's times stand for nothing.
std::vector<double> KvSession::move(const TransferPlan& plan) {
  const Watchdog::Bounded moving(context_.watchdog, point_.transfer_deadline);
  const double start = monotonic_seconds();
  std::vector<double> at;
  on_wire([&] {
    if (seat_.sends)
      at = wire_.send(plan);
    else
      wire_.receive(plan);
  });
  return at.empty() ? std::vector{monotonic_seconds() - start} : at;
}

bool KvSession::failed() const { return other_end_failed_ || !failure_.empty(); }

// An end that has failed does nothing more; any_ended() tells the others, and the job's side
// channel where they may not come to that.
void KvSession::on_wire(const std::function<void()>& call) {
  if (failed()) return;
  try {
    call();
  } catch (const nccl::PeerFailed&) {
    other_end_failed_ = true;
  } catch (const std::exception& e) {
    failure_ = said("said.of", seat_.name, said_by(e));
    if (wire_.waits_for_the_failed()) context_.watchdog.fail(pack_said(failure_));
  }
}

// The pages before and after the planted one are in the same layer, if it has several.
void KvSession::spoil() {
  const auto& fault = point_.fault;
  if (!fault || seat_.sends || (fault->rank != seat_.ranks.from && fault->rank != seat_.ranks.to))
    return;
  const int64_t pages = point_.shape.pages();
  const PageId id{fault->layer, pages / 2};
  const PageId other = pages > 1 ? PageId{id.layer, (id.page + 1) % pages}
                                 : PageId{(id.layer + 1) % point_.shape.layers, 0};
  switch (fault->kind) {
    case PageFaultKind::bitflip:
      return pool_.flip(id, tables_.to);
    case PageFaultKind::drop:
      return pool_.drop(id, tables_.to);
    case PageFaultKind::swap:
      return pool_.swap(id, other, tables_.to);
    case PageFaultKind::twice:
      return pool_.repeat(other, id, tables_.to);
  }
}

void KvSession::verify(const BlockTable& mine) {
  ++out_.verified;
  out_.wrong = pool_.verify(mine, transfer_);
  if (!out_.wrong) return;
  out_.wrong->text = said(seat_.sends ? "kv.wrong_source" : "kv.wrong_pages", seat_.name, transfer_,
                          out_.wrong->text, out_.wrong->count);
}

void KvSession::compare_pairs() {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  std::vector<double> medians(static_cast<size_t>(seat_.pairs), 0);
  if (seat_.sends)
    medians[static_cast<size_t>(seat_.pair)] = Samples::from_list(out_.seconds).summary().median;
  out_.medians = group_.max(medians);
  const auto samples =
      static_cast<size_t>(context_.comm.max(static_cast<double>(out_.seconds.size())));
  const auto padded = [&](double otherwise) {
    return out_.seconds.empty() ? std::vector<double>(samples, otherwise) : out_.seconds;
  };
  out_.slowest = group_.max(padded(0));
  out_.fastest = group_.min(padded(kNone));
}

}  // namespace cb::kv
