// Lines of the kernel's log that speak against the machine or its surroundings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cb {

// Returns the kind of event (core/profile_soak.h) that the line's text tells; empty for a line that
// tells none.
std::string_view kernel_event_kind(std::string_view text);

struct KernelLine {
  std::string kind;
  uint64_t sequence = 0;
  double seconds = 0;  // since boot
  std::string text;
};
struct KernelEvents {
  size_t messages = 0;            // in the log
  uint64_t first = 0, last = 0;   // their sequence numbers
  double first_seconds = 0;       // time of the first one since boot
  std::vector<KernelLine> lines;  // those that are events, in order
};
// Parses "priority,sequence,microseconds,flags;text" lines; others are skipped (continuations).
KernelEvents kernel_events(std::string_view log);

}  // namespace cb
