#include "core/clock.h"

#include <ctime>

#include <fmt/chrono.h>

namespace cb {

std::string utc_now() {
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
}

}  // namespace cb
