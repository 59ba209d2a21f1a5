#include "bench/gpu/chase_cycle.h"

#include <numeric>
#include <random>
#include <utility>

namespace cb {

std::vector<uint64_t> random_cycle(uint64_t lines, uint64_t seed) {
  std::vector<uint64_t> next(lines);
  std::iota(next.begin(), next.end(), uint64_t{0});
  std::mt19937_64 random(seed);
  for (uint64_t i = lines - 1; i > 0; --i) std::swap(next[i], next[random() % i]);
  return next;
}

uint64_t follow(const std::vector<uint64_t>& next, uint64_t from, uint64_t steps) {
  uint64_t at = from;
  for (uint64_t i = 0; i < steps; ++i) at = next[at];
  return at;
}

}  // namespace cb
