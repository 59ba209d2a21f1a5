#include "bench/mpi/point.h"

#include <bit>

#include <fmt/format.h>

#include "core/clock.h"

namespace cb {
namespace {

class PointMeasurement {
 public:
  PointMeasurement(Context& context, const CollectivePoint& point, MPI_Comm comm)
      : context_(context),
        point_(point),
        comm_(comm),
        call_(point.collective, point.type, point.reduction, point.size, comm) {}

  PointResult run() {
    const int before = (point_.checks + 3) / 4;
    check(before, "before timing");
    if (!context_.comm.any(result_.wrong_elements > 0)) {
      sample();
      check(point_.checks - before, "after timing");
    }
    result_.measured = !context_.comm.any(result_.wrong_elements > 0);
    if (result_.measured) find_slowest();
    return std::move(result_);
  }

 private:
  void check(int count, const char* when) {
    for (int i = 0; i < count; ++i) {
      // A signal may have come to one rank only: all stop, or none.
      if (context_.comm.any(context_.cancel.cancelled())) throw Interrupted();
      context_.watchdog.note(fmt::format("{}, check {} {}", point_.plan.what, i + 1, when));
      call_.prepare(++iteration_);
      context_.watchdog.enter();
      call_.run();
      verify(fmt::format("check {} {}", i + 1, when));
      context_.watchdog.progress();
    }
  }

  void verify(const std::string& what) {
    if (point_.faulty_rank == context_.comm.rank()) call_.corrupt();
    ++result_.checks;
    const auto wrong = call_.verify(iteration_);
    if (!wrong) return;
    if (result_.first_wrong.empty()) {
      result_.first_wrong =
          wrong->count == 0
              ? fmt::format("{}: {}: {}", context_.who(), what, wrong->text)
              : fmt::format("{}: {}: element {} of {}: {} ({} wrong in this call)", context_.who(),
                            what, wrong->first, point_.size.receive, wrong->text, wrong->count);
    }
    result_.wrong_elements += std::max<uint64_t>(1, wrong->count);
  }

  void sample() {
    const SampleRun run =
        context_.sampler.measure_self_timed(point_.plan, [this] { return timed_call(); });
    // Of every rank the same iterations are warm-up.
    result_.seconds.erase(result_.seconds.begin(),
                          result_.seconds.begin() + static_cast<std::ptrdiff_t>(run.warm_up));
  }

  double timed_call() {
    const bool verified = std::has_single_bit(++timed_);
    if (verified) call_.prepare(++iteration_);
    context_.watchdog.enter();
    // Ping-pong keeps its pair in step by itself; a barrier would only disturb the other pairs.
    if (point_.collective != Collective::pingpong) mpi::check(MPI_Barrier(comm_), "MPI_Barrier");
    const double start = monotonic_seconds();
    call_.run();
    double seconds = monotonic_seconds() - start;
    if (verified) verify(fmt::format("timed iteration {}", timed_));
    if (point_.collective == Collective::pingpong) seconds /= 2;
    result_.seconds.push_back(seconds);
    return seconds;
  }

  void find_slowest() {
    result_.slowest_seconds.resize(result_.seconds.size());
    mpi::check(MPI_Allreduce(result_.seconds.data(), result_.slowest_seconds.data(),
                             static_cast<int>(result_.seconds.size()), MPI_DOUBLE, MPI_MAX, comm_),
               "MPI_Allreduce");
    if (point_.collective == Collective::pingpong && !call_.initiates()) result_.seconds.clear();
  }

  Context& context_;
  const CollectivePoint& point_;
  MPI_Comm comm_;
  CollectiveCall call_;
  PointResult result_;
  uint64_t iteration_ = 0;  // of the data
  uint64_t timed_ = 0;
};

}  // namespace

PointResult measure_point(Context& context, const CollectivePoint& point, MPI_Comm comm) {
  return PointMeasurement(context, point, comm).run();
}

}  // namespace cb
