#include <algorithm>

#include "bench/training/cuda/cuda_backend.h"
#include "bench/training/cuda/device_queue.h"
#include "core/clock.h"
#include "kernels/stream.h"

namespace cb::training {
namespace {

constexpr int kPassesAtOnce = 8;  // so that a launch and a wait cost little of each
constexpr int kLeastTries = 3;
constexpr double kLeastSeconds = 0.02;
constexpr int64_t kWord = 16;  // bytes of a load

}  // namespace

double device_read_rate(GpuBackend& backend, double bytes) {
  const int64_t whole = std::max(kWord, static_cast<int64_t>(bytes) / kWord * kWord);
  const auto array = backend.allocate(whole / static_cast<int64_t>(sizeof(float)));
  const auto sum = backend.allocate(2);
  // Numbers as weights are: bits that never change take less power.
  const int64_t count = whole / static_cast<int64_t>(sizeof(float));
  backend.normal(array.get(), {1, count, 0, 0, count}, 5, 1);
  DeviceQueue& queue = backend.queue();
  const auto read = [&](int passes) {
    const double start = monotonic_seconds();
    for (int i = 0; i < passes; ++i)
      queue.launched(
          kernels::launch_read(array.get(), static_cast<size_t>(whole),
                               reinterpret_cast<uint64_t*>(sum.get()), queue.stream().handle()),
          "read");
    queue.wait();
    return monotonic_seconds() - start;
  };
  queue.wait();
  read(1);
  double best = 0;
  const double until = monotonic_seconds() + kLeastSeconds;
  for (int i = 0; i < kLeastTries || monotonic_seconds() < until; ++i)
    best = std::max(best, kPassesAtOnce * static_cast<double>(whole) / read(kPassesAtOnce));
  return best;
}

}  // namespace cb::training
