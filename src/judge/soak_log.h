// What the case `events` says of each reading of a host's kernel log: which boot, which lines, and
// what it left out. Pure; docs/methods/soak.md.
#pragma once

#include <string>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// Lines that nobody has read: the ring buffer lost them between two cycles, or the record left them
// out. They may have told anything of `kind`; empty: of any kind that the log tells.
struct LostLogLines {
  std::string host, kind;
  size_t cycle = 0;
};
std::vector<LostLogLines> lost_log_lines(const Campaign& campaign);

// A host that was booted between two readings of the soak.
struct Reboot {
  std::string host, step;
  size_t cycle = 0;
  std::string at;     // when it was booted, ISO 8601
  std::string since;  // when it was read before
};
std::vector<Reboot> reboots(const Campaign& campaign);

}  // namespace cb
