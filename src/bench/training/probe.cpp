#include "bench/training/probe.h"

#include "core/clock.h"

namespace cb::training {
namespace {

constexpr int kLeastCalls = 3;
constexpr int kMostCalls = 1000;
constexpr double kCallSeconds = 0.03;  // a short call is repeated for that long
constexpr double kMostSeconds = 0.15;  // with what goes before

}  // namespace

double seconds_of(const std::function<void()>& before, const std::function<void()>& call) {
  before();
  call();
  const double begin = monotonic_seconds();
  double sum = 0;
  int calls = 0;
  while (calls < kLeastCalls ||
         (calls < kMostCalls && sum < kCallSeconds && monotonic_seconds() - begin < kMostSeconds)) {
    before();
    const double start = monotonic_seconds();
    call();
    sum += monotonic_seconds() - start;
    ++calls;
  }
  return sum / calls;
}

}  // namespace cb::training
