#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/messages/said.h"

namespace cb {

// What was heard of the neighbours.
struct HeardFrames {
  std::map<std::string, std::string> payload;  // interface → the newest frame behind its header
  std::map<std::string, Said> why_not;         // interface → it could not listen
};

// Listens to the frames of LLDP on all these interfaces at once, for at most that time; ends as
// soon as each one has heard a frame, or `stop` says so. A frame by which its sender takes leave
// counts as none: another may follow. Sends nothing. Needs CAP_NET_RAW: else
// each one says so.
HeardFrames hear_lldp(const std::vector<std::string>& interfaces, double seconds,
                      const std::function<bool()>& stop = {});

}  // namespace cb
