#pragma once

#include <cstdint>
#include <ctime>
#include <string_view>

namespace cb {

// Returns seconds of CLOCK_MONOTONIC_RAW, which time servers do not slew.
inline double raw_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// Returns the processor time in seconds of the calling thread, in user and kernel mode.
inline double thread_busy_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// A counter that a loop can read at little cost: the processor's, else the raw clock in
// nanoseconds. Its frequency is never assumed: TickScale measures it over the same interval that is
// converted.
#if defined(__x86_64__)
inline uint64_t ticks_now() { return __builtin_ia32_rdtsc(); }
#elif defined(__aarch64__)
inline uint64_t ticks_now() {
  uint64_t value = 0;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value));
  return value;
}
#else
inline uint64_t ticks_now() { return static_cast<uint64_t>(raw_seconds() * 1e9); }
#endif

// Name of the kernel's clock source that is this counter; empty if ticks_now() reads no counter.
#if defined(__x86_64__)
inline constexpr std::string_view kTickClockSource = "tsc";
#elif defined(__aarch64__)
inline constexpr std::string_view kTickClockSource = "arch_sys_counter";
#else
inline constexpr std::string_view kTickClockSource = "";
#endif

// Measures seconds per tick between two moments by reading the raw clock at both.
class TickScale {
 public:
  TickScale() : ticks_(ticks_now()), seconds_(raw_seconds()) {}
  // Returns the scale since construction; 0 if no tick has passed.
  double seconds_per_tick() const {
    const uint64_t ticks = ticks_now() - ticks_;
    const double seconds = raw_seconds() - seconds_;
    return ticks == 0 ? 0 : seconds / static_cast<double>(ticks);
  }

 private:
  uint64_t ticks_;
  double seconds_;
};

}  // namespace cb
