#include "bench/collectives/point.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "core/clock.h"

namespace cb {
namespace {

// The samples keep every call, since the ranks of a group are compared call by call.
constexpr const char* kSeconds = "seconds";
constexpr const char* kArrival = "arrival";

class PointMeasurement {
 public:
  PointMeasurement(Context& context, const CollectivePoint& point, const GroupComm& group,
                   CollectiveCall& call)
      : context_(context), point_(point), group_(group), call_(call) {}

  PointResult check_only() {
    check(point_.checks, "coll.untimed");
    result_.measured = !context_.comm.any(result_.wrong_elements > 0);
    return std::move(result_);
  }

  PointResult run() {
    const int before = (point_.checks + 3) / 4;
    check(before, "coll.before");
    if (!context_.comm.any(result_.wrong_elements > 0)) {
      sample();
      check(point_.checks - before, "coll.after");
    }
    result_.measured = !context_.comm.any(result_.wrong_elements > 0);
    if (result_.measured) find_slowest();
    return std::move(result_);
  }

 private:
  void check(int count, const std::string& id) {
    for (int i = 0; i < count; ++i) {
      // Only one rank may have got the signal: all ranks stop, or none.
      if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
      const Said what = said(id, i + 1);
      context_.watchdog.note(point_.plan.what + ", " + what.text());
      call_.prepare(++iteration_);
      context_.watchdog.enter();
      call_.run();
      verify(what);
      context_.watchdog.progress();
    }
  }

  void verify(const Said& what) {
    if (point_.faulty_rank == context_.comm.rank()) call_.corrupt();
    ++result_.checks;
    const auto wrong = call_.verify(iteration_);
    if (!wrong) return;
    if (result_.first_wrong.empty()) {
      result_.first_wrong = wrong->count == 0
                                ? said("coll.wrong", context_.who(), what, wrong->text)
                                : said("coll.wrong_at", context_.who(), what, wrong->first,
                                       point_.size.receive, wrong->text, wrong->count);
    }
    result_.wrong_elements += std::max<uint64_t>(1, wrong->count);
  }

  void sample() {
    const double begun = monotonic_seconds();
    const double before = group_.clock_offset();
    SamplePlan plan = point_.plan;
    plan.spans = {kSeconds, kArrival};
    const SampleRun run =
        context_.sampler.measure_spans(plan, [this](Spans& spans) { return timed_call(spans); });
    const double after = group_.clock_offset();
    result_.seconds = run.spans.of(kSeconds);
    arrivals_ = run.spans.of(kArrival);
    // Converts arrivals to the clock of the group's first rank. Clocks drift, so the offset was
    // taken before and after.
    const double drift = (after - before) / std::max(1e-9, monotonic_seconds() - begun);
    for (double& at : arrivals_) at += before + drift * (at - begun);
  }

  double timed_call(Spans& spans) {
    const bool verified = std::has_single_bit(++timed_);
    if (verified) call_.prepare(++iteration_);
    context_.watchdog.enter();
    // Ping-pong keeps its pair in step by itself; a barrier would only disturb other pairs.
    if (point_.collective != Collective::pingpong) group_.barrier();
    const double start = monotonic_seconds();
    call_.run();
    double seconds = (monotonic_seconds() - start) / call_.calls();
    if (verified) verify(said("coll.timed", timed_));
    if (point_.collective == Collective::pingpong) seconds /= 2;
    spans.add(kSeconds, seconds);
    spans.add(kArrival, start);
    return seconds;
  }

  void find_slowest() {
    result_.slowest_seconds = group_.max(result_.seconds);
    const std::vector<double> first = group_.min(arrivals_);
    for (size_t i = 0; i < arrivals_.size(); ++i)
      result_.late_seconds.push_back(std::max(0.0, arrivals_[i] - first[i]));
    if (point_.collective == Collective::pingpong && !call_.initiates()) result_.seconds.clear();
  }

  Context& context_;
  const CollectivePoint& point_;
  const GroupComm& group_;
  CollectiveCall& call_;
  PointResult result_;
  uint64_t iteration_ = 0;  // number of the data that prepare() made
  uint64_t timed_ = 0;
  std::vector<double> arrivals_;  // start of each timed call, monotonic seconds
};

}  // namespace

PointResult measure_point(Context& context, const CollectivePoint& point, const GroupComm& group,
                          CollectiveCall& call) {
  return PointMeasurement(context, point, group, call).run();
}

PointResult check_point(Context& context, const CollectivePoint& point, CollectiveCall& call) {
  return PointMeasurement(context, point, {}, call).check_only();
}

}  // namespace cb
