#include "bench/cpu/pointer_chase.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "bench/cpu/random.h"
#include "core/clock.h"

namespace cb {

std::vector<uint32_t> random_cycle(uint32_t count, uint64_t seed) {
  std::vector<uint32_t> next(count);
  std::iota(next.begin(), next.end(), 0u);
  Random random(seed, count);
  // Sattolo: like Fisher and Yates, but an element is never swapped with itself, which leaves one
  // cycle.
  for (uint32_t i = count; i-- > 1;)
    std::swap(next[i], next[static_cast<uint32_t>(random.next() % i)]);
  return next;
}

PointerChase::PointerChase(int64_t bytes, uint64_t seed)
    : lines_(std::max<uint64_t>(2, static_cast<uint64_t>(bytes) / sizeof(Line))),
      memory_(make_pages<Line>(lines_)),
      at_(memory_.get()) {
  const std::vector<uint32_t> next = random_cycle(static_cast<uint32_t>(lines_), seed);
  for (uint64_t i = 0; i < lines_; ++i) memory_[i].next = &memory_[next[i]];
}

double PointerChase::run(uint64_t steps) {
  Line* p = at_;
  const double start = monotonic_seconds();
  for (uint64_t i = 0; i < steps; i += 8) {
    p = p->next->next->next->next->next->next->next->next;
    asm volatile("" : "+r"(p));
  }
  const double end = monotonic_seconds();
  at_ = p;
  return end - start;
}

uint64_t PointerChase::cycle_length() const {
  uint64_t length = 1;
  for (const Line* p = memory_[0].next; p != &memory_[0] && length <= lines_; p = p->next) ++length;
  return length;
}

}  // namespace cb
