#include "bench/training/probe.h"

#include <vector>

#include "core/clock.h"
#include "core/stats.h"

namespace cb::training {
namespace {

constexpr size_t kLeastCalls = 3;
constexpr size_t kMostCalls = 1000;
constexpr double kCallSeconds = 0.03;   // a short call is repeated for that long
constexpr double kMostSeconds = 0.3;    // with what goes before
constexpr double kTurnsSeconds = 0.01;  // some turns of an operating system

}  // namespace

double seconds_of(Backend<float>& backend, const std::function<void()>& before,
                  const std::function<void()>& call) {
  const auto timed = [&] {
    before();
    backend.finish();
    const double start = monotonic_seconds();
    call();
    backend.finish();
    return monotonic_seconds() - start;
  };
  timed();
  const double begin = monotonic_seconds();
  std::vector<double> all;
  double sum = 0;
  while (all.size() < kLeastCalls || (all.size() < kMostCalls && sum < kCallSeconds &&
                                      monotonic_seconds() - begin < kMostSeconds)) {
    all.push_back(timed());
    sum += all.back();
  }
  return sum < kTurnsSeconds ? median(all) : sum / static_cast<double>(all.size());
}

}  // namespace cb::training
