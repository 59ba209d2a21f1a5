#include "bench/collectives/point.h"

#include <algorithm>
#include <bit>
#include <deque>

#include <fmt/format.h>

#include "bench/collectives/group_clock.h"
#include "core/clock.h"

namespace cb {
namespace {

// The samples keep every call, since the ranks of a group are compared call by call: its start, and
// behind that its seconds in each lane.
constexpr const char* kArrival = "arrival";

std::string seconds_of_lane(size_t lane) { return fmt::format("seconds of {}", lane); }

class PointMeasurement {
 public:
  PointMeasurement(Context& context, const std::vector<CollectiveLane>& lanes, RunLanes run)
      : context_(context),
        lanes_(lanes),
        run_(std::move(run)),
        point_(lanes.front().point),
        results_(lanes.size()),
        seconds_(lanes.size()) {}

  std::vector<PointResult> check_only() {
    check(point_.checks, "coll.untimed");
    agree();
    return std::move(results_);
  }

  std::vector<PointResult> run() {
    const int before = (point_.checks + 3) / 4;
    check(before, "coll.before");
    if (!any_wrong()) {
      sample();
      check(point_.checks - before, "coll.after");
    }
    agree();
    for (size_t i = 0; i < lanes_.size() && results_[i].measured; ++i) find_slowest(i);
    return std::move(results_);
  }

 private:
  bool any_wrong() {
    bool mine = false;
    for (const PointResult& r : results_) mine |= r.wrong_elements > 0;
    return context_.comm.any(mine);
  }
  void agree() {
    const bool wrong = any_wrong();
    for (PointResult& r : results_) r.measured = !wrong;
  }

  void check(int count, const std::string& id) {
    std::vector<double> unused(lanes_.size());
    for (int i = 0; i < count; ++i) {
      // Only one rank may have got the signal: all ranks stop, or none.
      if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
      const Said what = said(id, i + 1);
      context_.watchdog.note(point_.plan.what + ", " + what.text());
      prepare();
      context_.watchdog.enter();
      run_(unused);
      verify(what);
      context_.watchdog.progress();
    }
  }

  void prepare() {
    ++iteration_;
    for (const CollectiveLane& lane : lanes_) lane.call.prepare(iteration_);
  }

  void verify(const Said& what) {
    for (size_t i = 0; i < lanes_.size(); ++i) verify(lanes_[i], results_[i], what);
  }

  void verify(const CollectiveLane& lane, PointResult& result, const Said& what) {
    if (point_.faulty_rank == context_.comm.rank()) lane.call.corrupt();
    ++result.checks;
    const auto wrong = lane.call.verify(iteration_);
    if (!wrong) return;
    if (result.first_wrong.empty()) {
      result.first_wrong = wrong->count == 0
                               ? said("coll.wrong", context_.who(), what, wrong->text)
                               : said("coll.wrong_at", context_.who(), what, wrong->first,
                                      lane.point.size.receive, wrong->text, wrong->count);
    }
    result.wrong_elements += std::max<uint64_t>(1, wrong->count);
  }

  void sample() {
    for (const CollectiveLane& lane : lanes_) clocks_.emplace_back(lane.group);
    SamplePlan plan = point_.plan;
    plan.spans = {kArrival};
    plan.begin = [this] { warm_ = true; };
    for (size_t i = 0; i < lanes_.size(); ++i) plan.spans.push_back(seconds_of_lane(i));
    const SampleRun run =
        context_.sampler.measure_spans(plan, [this](Spans& spans) { return timed_call(spans); });
    for (GroupClock& clock : clocks_) clock.end();
    arrivals_ = run.spans.of(kArrival);
    for (size_t i = 0; i < lanes_.size(); ++i)
      results_[i].seconds = run.spans.of(seconds_of_lane(i));
  }

  void barrier() {
    if (lanes_.size() == 1)
      lanes_.front().group.barrier();
    else
      context_.comm.barrier();
  }

  // Seconds of the slowest lane. Of the calls that warm up nothing is looked at: those before have
  // been. What is done here beside the call cools the caches for the next: some ten nanoseconds.
  double timed_call(Spans& spans) {
    const bool verified = warm_ && std::has_single_bit(++timed_);
    if (verified) prepare();
    context_.watchdog.enter();
    // Ping-pong keeps its pair in step by itself; a barrier would only disturb other pairs.
    const bool pingpong = point_.collective == Collective::pingpong;
    if (!pingpong) barrier();
    const double start = run_(seconds_);
    if (verified) verify(said("coll.timed", timed_));
    size_t place = 0;
    spans.add(place, start);
    for (double& s : seconds_) {
      if (pingpong) s /= 2;
      spans.add(++place, s);
    }
    return std::ranges::max(seconds_);
  }

  void find_slowest(size_t i) {
    PointResult& result = results_[i];
    result.slowest_seconds = lanes_[i].group.max(result.seconds);
    result.late_seconds = clocks_[i].late(arrivals_);
    if (point_.collective == Collective::pingpong && !lanes_[i].call.initiates())
      result.seconds.clear();
  }

  Context& context_;
  const std::vector<CollectiveLane>& lanes_;
  RunLanes run_;
  const CollectivePoint& point_;  // what all lanes have in common
  std::vector<PointResult> results_;
  uint64_t iteration_ = 0;  // number of the data that prepare() made
  bool warm_ = false;       // calls are timed now
  uint64_t timed_ = 0;
  std::deque<GroupClock> clocks_;  // by lane
  std::vector<double> arrivals_;   // start of each timed call, monotonic
  std::vector<double> seconds_;    // of the newest call, by lane
};

RunLanes alone(CollectiveCall& call) {
  return [&call](std::span<double> seconds) {
    const double start = monotonic_seconds();
    call.run();
    seconds[0] = (monotonic_seconds() - start) / call.calls();
    return start;
  };
}

}  // namespace

std::vector<PointResult> measure_lanes(Context& context, const std::vector<CollectiveLane>& lanes,
                                       const RunLanes& run) {
  return PointMeasurement(context, lanes, run).run();
}

PointResult measure_point(Context& context, const CollectivePoint& point, const GroupComm& group,
                          CollectiveCall& call) {
  const std::vector<CollectiveLane> lanes{{group, call, point}};
  return std::move(PointMeasurement(context, lanes, alone(call)).run().front());
}

PointResult check_point(Context& context, const CollectivePoint& point, CollectiveCall& call) {
  const GroupComm single;
  const std::vector<CollectiveLane> lanes{{single, call, point}};
  return std::move(PointMeasurement(context, lanes, alone(call)).check_only().front());
}

}  // namespace cb
