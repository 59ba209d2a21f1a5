#pragma once

#include <chrono>
#include <string>

namespace cb {

// Seconds of the monotonic clock since an arbitrary start.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Now as "2026-11-20T14:03:12Z" (UTC).
std::string utc_now();

}  // namespace cb
