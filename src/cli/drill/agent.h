// What a drill does on the host that it is about. Started there by the launcher.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/drill/drills.h"
#include "cli/drill/undo.h"

namespace cb {

struct AgentOrder {
  DrillAction action = DrillAction::stop;
  std::string token;        // marks the processes of the drill's measurement
  std::string part;         // interface or directory
  std::string rate;         // of slow-link, as tc takes it
  double hold_seconds = 0;  // cut-link: until the host undoes it by itself
  UndoList list{""};
};

// The environment variable that carries the token.
inline constexpr const char* kDrillVariable = "CLUSTERBENCH_DRILL";

// The beginning of the name of every file that a drill makes outside of its directory.
inline constexpr std::string_view kDrillFile = "clusterbench-drill-";

// Notes what it will change, then changes it. Throws Error naming host, part and next step.
void inject(const AgentOrder& order);

// Undoes everything on the list that is open for this host. Throws Error with everything that could
// not be undone; the rest is undone.
void undo_here(const UndoList& list);

}  // namespace cb
