#include "bench/training/read_probe.h"

#include <algorithm>
#include <functional>

#include "bench/cpu/stream_team.h"
#include "core/clock.h"

namespace cb::training {
namespace {

constexpr int kReadPasses = 5;
constexpr double kReadSeconds = 0.02;  // at least
constexpr int kRead = 4;               // bytes of an element: fp32

// The fastest of passes that each move `bytes`: some, and for some time, since threads that wake up
// late cost a short pass more than it takes.
double best_rate(double bytes, const std::function<double()>& pass_seconds) {
  double best = 0;
  const double until = monotonic_seconds() + kReadSeconds;
  for (int i = 0; i < kReadPasses || monotonic_seconds() < until; ++i)
    best = std::max(best, bytes / pass_seconds());
  return best;
}

}  // namespace

double row_product_rate(Backend<float>& backend, double bytes, int64_t width) {
  const auto rows = std::max<int64_t>(1, static_cast<int64_t>(bytes / kRead) / width);
  const auto weights = backend.allocate(rows * width);
  const auto x = backend.allocate(width), y = backend.allocate(rows);
  return best_rate(static_cast<double>(rows * width * kRead), [&] {
    const double start = monotonic_seconds();
    backend.matmul(
        {{1, rows, width}, x.get(), width, false, weights.get(), width, true, y.get(), rows});
    backend.finish();
    return monotonic_seconds() - start;
  });
}

double array_rate(const std::vector<int>& cpus, double bytes) {
  StreamTeam stream(cpus, static_cast<size_t>(bytes / (3 * sizeof(double))));
  return best_rate(static_cast<double>(stream.elements()) * 3 * sizeof(double),
                   [&] { return stream.read_pass(); });
}

}  // namespace cb::training
