#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace cb {

// Returns seconds of the monotonic clock since an arbitrary start.
inline double monotonic_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Returns the current time as "2026-11-20T14:03:12Z" (UTC).
std::string utc_now();

// Returns the seconds since 1970 of "2026-11-20T14:03:12Z"; nothing for any other text.
std::optional<int64_t> seconds_since_epoch(std::string_view utc);

}  // namespace cb
