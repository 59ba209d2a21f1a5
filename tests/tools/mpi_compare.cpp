// `mpi` beside a plain loop (barrier, clock, call, clock) in the same job, in rounds that
// alternate: the same ranks, processes and machine a moment later. In every round each of the two
// allocates its buffers, measures and frees them, as two programs would, so that neither keeps
// memory that lies better than the other's, behind a gap of another size each time: where the heap
// of a job puts large buffers can decide over a quarter of the time. A second plain loop shows what
// two equal loops differ by. Who comes first changes from round to round. Prints per operation and
// size the median time of the plain loops and of `mpi` (of an iteration, the largest over the
// ranks), the ratios of `mpi` to the mean of the round's two plain loops (their median and spread),
// and those of the second plain loop to the first. By ci/compare-mpi.sh, or:
//   mpirun -np 2 build/ci/bin/mpi_compare [ROUNDS=9] [SIZE…=1K 16K 256K 4M 64M]
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "bench/collectives/mpi/mpi_call.h"
#include "bench/collectives/point.h"
#include "core/clock.h"
#include "core/stats.h"
#include "core/units.h"
#include "sys/cpu/affinity.h"

namespace {

using namespace cb;

constexpr double kSecondsPerRound = 0.15;
constexpr double kMinIterations = 25, kMaxIterations = 5000;

class NoProgress final : public Progress {
 public:
  void update(double, const std::string&) override {}
  void done() override {}
};

struct Free {
  void operator()(void* p) const { std::free(p); }
};
// As OSU's benchmarks get theirs: posix_memalign to a page, then every byte written.
std::unique_ptr<float, Free> page_aligned(uint64_t bytes) {
  void* p = nullptr;
  if (posix_memalign(&p, 4096, bytes) != 0) throw std::bad_alloc();
  std::unique_ptr<float, Free> out(static_cast<float*>(p));
  std::fill_n(out.get(), bytes / sizeof(float), 1.0F);
  return out;
}

// A gap of up to 16 MiB that moves what is allocated behind it.
class Gap {
 public:
  explicit Gap(std::minstd_rand& random) : memory_(std::malloc((1 + random() % 4096) * 4096)) {}

 private:
  std::unique_ptr<void, Free> memory_;
};

double median_of_slowest(const std::vector<double>& seconds) {
  std::vector<double> slowest(seconds.size());
  MPI_Allreduce(seconds.data(), slowest.data(), static_cast<int>(seconds.size()), MPI_DOUBLE,
                MPI_MAX, MPI_COMM_WORLD);
  return median(slowest);
}

// The plain loop. Nothing of ours in it but the clock, which is clock_gettime(CLOCK_MONOTONIC).
double plain(Collective collective, const CollectiveSize& size, int iterations) {
  const auto send = page_aligned(size.send * sizeof(float));
  const auto receive = page_aligned(size.receive * sizeof(float));
  const int count = static_cast<int>(size.block);
  std::vector<double> seconds;
  for (int i = -5; i < iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = monotonic_seconds();
    if (collective == Collective::all_reduce)
      MPI_Allreduce(send.get(), receive.get(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    else if (collective == Collective::all_gather)
      MPI_Allgather(send.get(), count, MPI_FLOAT, receive.get(), count, MPI_FLOAT, MPI_COMM_WORLD);
    else
      MPI_Alltoall(send.get(), count, MPI_FLOAT, receive.get(), count, MPI_FLOAT, MPI_COMM_WORLD);
    const double took = monotonic_seconds() - start;
    if (i >= 0) seconds.push_back(took);
  }
  return median_of_slowest(seconds);
}

// Ratios of the rounds, ascending.
struct Ratios {
  std::vector<double> sorted;
  Ratios(const std::vector<double>& above, const std::vector<double>& below) {
    for (size_t i = 0; i < above.size(); ++i) sorted.push_back(above[i] / below[i]);
    std::sort(sorted.begin(), sorted.end());
  }
  double middle() const { return median(sorted); }
  double lower() const { return sorted[sorted.size() / 4]; }
  double upper() const { return sorted[sorted.size() - 1 - sorted.size() / 4]; }
};

std::vector<double> means(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> out(a.size());
  for (size_t i = 0; i < a.size(); ++i) out[i] = (a[i] + b[i]) / 2;
  return out;
}

class Comparison {
 public:
  Comparison(Context& context, const GroupComm& group) : context_(context), group_(group) {}

  // The ratio of ours to the plain loop.
  double run(Collective collective, int64_t bytes, int rounds) {
    const auto ranks = static_cast<uint64_t>(group_.size());
    const auto size =
        collective_size(collective, static_cast<uint64_t>(bytes), sizeof(float), ranks);
    if (!size) throw Error(format_size(bytes) + " is too small for so many ranks");
    // The least of some: who lost the processor meanwhile is no measure.
    double once = std::numeric_limits<double>::infinity();
    for (int i = 0; i < 5; ++i) once = std::min(once, plain(collective, *size, 5));
    const int iterations =
        static_cast<int>(std::clamp(kSecondsPerRound / once, kMinIterations, kMaxIterations));
    std::array<std::vector<double>, 3> took;  // plain, mpi, plain again
    for (int i = 0; i < rounds; ++i) {
      for (int turn = 0; turn < 3; ++turn) {
        const auto who = static_cast<size_t>((i + turn) % 3);
        const Gap gap(random_);
        took[who].push_back(who == 1 ? ours(collective, bytes, *size, iterations)
                                     : plain(collective, *size, iterations));
      }
    }
    const std::vector<double> both = means(took[0], took[2]);
    const Ratios ratios(took[1], both), control(took[2], took[0]);
    if (context_.comm.is_root())
      std::printf("%-11s %6s %10.1f us %10.1f us %7.3f  %5.3f..%5.3f %9.3f  %5.3f..%5.3f %6d\n",
                  collective_name(collective), format_size(bytes).c_str(), median(both) * 1e6,
                  median(took[1]) * 1e6, ratios.middle(), ratios.lower(), ratios.upper(),
                  control.middle(), control.lower(), control.upper(), iterations);
    std::fflush(stdout);
    return ratios.middle();
  }

 private:
  double ours(Collective collective, int64_t bytes, const CollectiveSize& size, int iterations) {
    CollectivePoint point{.collective = collective, .asked_bytes = bytes, .size = size};
    point.plan.stop = {.max_seconds = std::numeric_limits<double>::infinity(),
                       .max_samples = static_cast<uint64_t>(iterations),
                       .target_half_width = 0};
    point.plan.warm_up_samples = 5;
    point.checks = 1;
    MpiCall call(
        {.collective = collective, .size = size, .rank = group_.rank(), .ranks = group_.size()},
        group_.mpi());
    return median(measure_point(context_, point, group_, call).slowest_seconds);
  }

  Context& context_;
  const GroupComm& group_;
  std::minstd_rand random_{static_cast<unsigned>(group_.rank()) + 1};
};

// A processor for each rank, where there are enough: two polling ranks that the scheduler has put
// on one take a thousand times as long until it moves one of them.
void pin_if_possible(const RankMap& place) {
  const std::vector<int> cpus = allowed_cpus();
  if (place.local_size <= static_cast<int>(cpus.size()))
    pin_this_thread(cpus[static_cast<size_t>(place.local_rank)]);
}

// Sizes as the program itself takes them.
std::vector<int64_t> sizes_of(int argc, char** argv) {
  std::vector<int64_t> out;
  for (int i = 2; i < argc; ++i) {
    const auto size = parse_size(argv[i]);
    if (!size || *size < 1) {
      std::fprintf(stderr, "mpi_compare: '%s' is no size such as 64K or 16M\n", argv[i]);
      return {};
    }
    out.push_back(*size);
  }
  if (argc <= 2) out = {1 << 10, 16 << 10, 256 << 10, 4 << 20, 64 << 20};
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 9;
  const std::vector<int64_t> sizes = sizes_of(argc, argv);
  if (rounds < 1 || sizes.empty()) {
    std::fprintf(stderr, "usage: mpi_compare [ROUNDS] [SIZE…]\n");
    return 2;
  }
  const mpi::Session session;
  const auto comm = world_comm();
  const RankMap place = locate_ranks(*comm, "host");
  pin_if_possible(place);
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
    std::printf("%-11s %6s %13s %13s %7s  %-12s %9s  %-12s %s\n", "", "size", "plain loop", "mpi",
                "ratio", "middle half", "two plain", "middle half", "iterations");
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
