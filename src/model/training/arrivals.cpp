#include "model/training/arrivals.h"

#include <algorithm>
#include <cmath>

#include "core/stats.h"
#include "model/counter_random.h"

namespace cb::training {

std::vector<double> poisson_arrivals(double rate, int64_t count, uint64_t seed) {
  std::vector<double> out;
  double at = 0;
  for (int64_t i = 0; i < count; ++i) {
    const double drawn = unit_of(mixed(mixed(seed) ^ static_cast<uint64_t>(i)));
    at += -std::log1p(-drawn) / rate;
    out.push_back(at);
  }
  return out;
}

std::vector<Serving> serve(std::span<const double> arrivals, size_t most, Server& server) {
  std::vector<Serving> out;
  size_t next = 0;
  while (next < arrivals.size()) {
    const auto waiting = arrivals.subspan(next);
    const auto late = std::upper_bound(waiting.begin(), waiting.end(), server.now());
    const auto here = static_cast<size_t>(late - waiting.begin());
    if (here == 0) {
      if (!server.wait_until(waiting.front())) break;
      continue;
    }
    const auto one = server.generate(next, std::min(here, most));
    if (!one) break;
    out.push_back(*one);
    next += one->count;
  }
  return out;
}

RequestTimes request_times(std::span<const double> arrivals, std::span<const Serving> servings,
                           int64_t new_tokens) {
  RequestTimes out;
  for (const Serving& one : servings) {
    for (const double arrival : arrivals.subspan(one.first, one.count)) {
      out.queueing.push_back(one.begin - arrival);
      out.first_token.push_back(one.first_token - arrival);
      out.whole.push_back(one.end - arrival);
      out.each_token.push_back((one.end - one.first_token) / static_cast<double>(new_tokens - 1));
    }
  }
  return out;
}

ServedLoad served_load(std::span<const double> arrivals, std::span<const Serving> servings) {
  double busy = 0, served = 0;
  for (const Serving& one : servings) {
    busy += one.end - one.begin;
    served += static_cast<double>(one.count);
  }
  const double end = servings.back().end;
  return {static_cast<double>(arrivals.size()) / arrivals.back(), served / end, busy / end};
}

double service_capacity(std::span<const double> seconds, size_t most) {
  return static_cast<double>(most) / mean(seconds);
}

}  // namespace cb::training
