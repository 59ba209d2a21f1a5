#pragma once

#include <string>
#include <utility>
#include <vector>

#include "campaign/run.h"

namespace cb {

// A host that is asked whether it answers, and the document whose writers it has to end first.
struct RollCall {
  HostSlots host;
  // Path that a job's --json named: what still runs there for it is killed. Empty: nothing.
  std::filesystem::path ended = {};
};

// The words of the program that answers: `clusterbench roll-call [--end PATH]`.
inline constexpr const char* kRollCall = "roll-call";
inline constexpr const char* kRollCallAnswer = "answers: clusterbench";  // in what it says

// Asks every host through the launcher, at most fan_out at a time. Returns the hosts that did not
// answer within setup.roll_call_seconds. Only a launcher reaches other hosts: without one all
// answer.
std::vector<std::string> silent_hosts(const RunSetup& setup, const std::vector<RollCall>& calls);

}  // namespace cb
