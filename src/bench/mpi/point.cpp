#include "bench/mpi/point.h"

#include <bit>

#include <fmt/format.h>

#include "bench/mpi/clock_offset.h"
#include "core/clock.h"

namespace cb {
namespace {

class PointMeasurement {
 public:
  PointMeasurement(Context& context, const CollectivePoint& point, MPI_Comm comm)
      : context_(context),
        point_(point),
        comm_(comm),
        call_(point.collective, point.type, point.reduction, point.size, comm, point.in_place) {}

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
    const double begun = monotonic_seconds();
    const double before = clock_offset(comm_);
    const SampleRun run =
        context_.sampler.measure_self_timed(point_.plan, [this] { return timed_call(); });
    const double after = clock_offset(comm_);
    // Of every rank the same iterations are warm-up.
    const auto warm_up = static_cast<std::ptrdiff_t>(run.warm_up);
    result_.seconds.erase(result_.seconds.begin(), result_.seconds.begin() + warm_up);
    arrivals_.erase(arrivals_.begin(), arrivals_.begin() + warm_up);
    // On the group's first rank's clock; clocks drift, so the offset is taken before and after.
    const double drift = (after - before) / std::max(1e-9, monotonic_seconds() - begun);
    for (double& at : arrivals_) at += before + drift * (at - begun);
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
    arrivals_.push_back(start);
    return seconds;
  }

  void find_slowest() {
    result_.slowest_seconds.resize(result_.seconds.size());
    mpi::check(MPI_Allreduce(result_.seconds.data(), result_.slowest_seconds.data(),
                             static_cast<int>(result_.seconds.size()), MPI_DOUBLE, MPI_MAX, comm_),
               "MPI_Allreduce");
    std::vector<double> first(arrivals_.size());
    mpi::check(MPI_Allreduce(arrivals_.data(), first.data(), static_cast<int>(arrivals_.size()),
                             MPI_DOUBLE, MPI_MIN, comm_),
               "MPI_Allreduce");
    for (size_t i = 0; i < arrivals_.size(); ++i)
      result_.late_seconds.push_back(std::max(0.0, arrivals_[i] - first[i]));
    if (point_.collective == Collective::pingpong && !call_.initiates()) result_.seconds.clear();
  }

  Context& context_;
  const CollectivePoint& point_;
  MPI_Comm comm_;
  CollectiveCall call_;
  PointResult result_;
  uint64_t iteration_ = 0;  // of the data
  uint64_t timed_ = 0;
  std::vector<double> arrivals_;  // when each timed call began, monotonic seconds
};

}  // namespace

PointResult measure_point(Context& context, const CollectivePoint& point, MPI_Comm comm) {
  return PointMeasurement(context, point, comm).run();
}

}  // namespace cb
