// `mpi` beside a plain loop (barrier, clock, call, clock) in the same job, in rounds that
// alternate: the same ranks, processes and machine a moment later. Prints per operation and size
// the median time of both (of an iteration, the largest over the ranks), the ratio of the rounds'
// medians, and its spread. By ci/compare-mpi.sh, or: mpirun -np 2 build/release/bin/mpi_compare
// [ROUNDS] [SIZE…]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "bench/coll/point.h"
#include "bench/mpi/mpi_call.h"
#include "core/clock.h"
#include "core/stats.h"

namespace {

using namespace cb;

constexpr double kSecondsPerRound = 0.15;

class NoProgress final : public Progress {
 public:
  void update(double, const std::string&) override {}
  void done() override {}
};

struct Free {
  void operator()(float* p) const { std::free(p); }
};
std::unique_ptr<float, Free> page_aligned(uint64_t bytes) {
  const uint64_t whole = (bytes + 4095) / 4096 * 4096;
  auto* p = static_cast<float*>(std::aligned_alloc(4096, whole));
  std::fill_n(p, whole / sizeof(float), 1.0F);
  return std::unique_ptr<float, Free>(p);
}

double median_of_slowest(const std::vector<double>& seconds) {
  std::vector<double> slowest(seconds.size());
  MPI_Allreduce(seconds.data(), slowest.data(), static_cast<int>(seconds.size()), MPI_DOUBLE,
                MPI_MAX, MPI_COMM_WORLD);
  return median(slowest);
}

// The plain loop. Nothing of ours in it but the clock, which is clock_gettime(CLOCK_MONOTONIC).
double plain(Collective collective, const CollectiveSize& size, float* send, float* receive,
             int iterations) {
  const int count = static_cast<int>(size.block);
  std::vector<double> seconds;
  for (int i = -5; i < iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = monotonic_seconds();
    if (collective == Collective::all_reduce)
      MPI_Allreduce(send, receive, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (collective == Collective::all_gather)
      MPI_Allgather(send, count, MPI_FLOAT, receive, count, MPI_FLOAT, MPI_COMM_WORLD);
    else
      MPI_Alltoall(send, count, MPI_FLOAT, receive, count, MPI_FLOAT, MPI_COMM_WORLD);
    const double took = monotonic_seconds() - start;
    if (i >= 0) seconds.push_back(took);
  }
  return median_of_slowest(seconds);
}

class Comparison {
 public:
  Comparison(Context& context, const GroupComm& group) : context_(context), group_(group) {}

  // The ratio of ours to the plain loop.
  double run(Collective collective, int64_t bytes, int rounds) {
    const auto ranks = static_cast<uint64_t>(group_.size());
    const CollectiveSize size =
        collective_size(collective, static_cast<uint64_t>(bytes), sizeof(float), ranks).value();
    const auto send = page_aligned(size.send * sizeof(float));
    const auto receive = page_aligned(size.receive * sizeof(float));
    // The least of some: who lost the processor meanwhile is no measure.
    double once = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 5; ++i)
      once = std::min(once, plain(collective, size, send.get(), receive.get(), 5));
    const int iterations = static_cast<int>(std::clamp(kSecondsPerRound / once, 5.0, 5000.0));
    CollectivePoint point{.collective = collective, .asked_bytes = bytes, .size = size};
    point.plan.stop = {.max_seconds = std::numeric_limits<double>::infinity(),
                       .max_samples = static_cast<uint64_t>(iterations),
                       .target_half_width = 0};
    point.plan.warm_up_samples = 5;
    point.checks = 1;
    MpiCall call(
        {.collective = collective, .size = size, .rank = group_.rank(), .ranks = group_.size()},
        group_.mpi());
    std::vector<double> theirs, ours, ratios;
    for (int i = 0; i < rounds; ++i) {
      theirs.push_back(plain(collective, size, send.get(), receive.get(), iterations));
      ours.push_back(median(measure_point(context_, point, group_, call).slowest_seconds));
      ratios.push_back(ours.back() / theirs.back());
    }
    const double ratio = median(ratios);
    std::sort(ratios.begin(), ratios.end());
    const size_t quarter = ratios.size() / 4;
    if (context_.comm.is_root())
      std::printf("%-11s %9lld %11.1f us %11.1f us %8.3f   %5.3f..%5.3f  %5.3f..%5.3f %6d\n",
                  collective_name(collective), static_cast<long long>(bytes), median(theirs) * 1e6,
                  median(ours) * 1e6, ratio, ratios[quarter], ratios[ratios.size() - 1 - quarter],
                  ratios.front(), ratios.back(), iterations);
    std::fflush(stdout);
    return ratio;
  }

 private:
  Context& context_;
  const GroupComm& group_;
};

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  std::vector<int64_t> sizes;
  for (int i = 2; i < argc; ++i) sizes.push_back(std::atoll(argv[i]));
  if (sizes.empty()) sizes = {1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20};
  const mpi::Session session;
  const auto comm = world_comm();
  const Place place = locate_ranks(*comm, "host");
  const CancelToken cancel;
  Watchdog watchdog([](const WatchState&) { std::abort(); });
  watchdog.arm("mpi_compare", 3600, 120);
  Sampler sampler(*comm, watchdog, cancel);
  NoProgress progress;
  const FsRoot fs("/");
  const HostInventory inventory;
  Context context{*comm, place, sampler, watchdog, cancel, progress, fs, inventory};
  const Group group = make_group(place, comm->rank(), "");
  Comparison comparison(context, group.comm);
  if (comm->is_root())
    std::printf("%-11s %9s %14s %14s %8s   %-14s %-14s %s\n", "", "bytes", "plain loop", "mpi",
                "ratio", "middle half", "all rounds", "iterations");
  int outside = 0, all = 0;
  for (const Collective c :
       {Collective::all_reduce, Collective::all_gather, Collective::alltoall}) {
    for (const int64_t size : sizes) {
      const double ratio = comparison.run(c, size, rounds);
      outside += ratio > 1.03 || ratio < 0.97;
      ++all;
    }
  }
  if (comm->is_root()) std::printf("%d of %d medians within 3 %%\n", all - outside, all);
  return outside == 0 ? 0 : 1;
}
