// One drill from the measurement before it to the one after it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "campaign/hosts.h"
#include "campaign/launcher.h"
#include "cli/drill/drills.h"
#include "cli/drill/undo.h"
#include "core/result.h"

namespace cb {

struct DrillSetup {
  LaunchSetup launch;
  std::vector<HostSlots> hosts;
  std::string binary;
  std::filesystem::path directory;  // logs, documents and the list of what was changed
  std::string on;                   // the host that the drill is about
  std::string part = {};
  std::string rate = "20mbit";
  double hold_seconds = 20;
  double deadline_seconds = 120;  // for each measurement
  bool redact = false;            // measurements record no values: their campaign does not
  std::function<int()> stop_signals = [] { return 0; };
  std::function<void(const std::string&)> say = [](const std::string&) {};
  // Shows a prompt and waits for a person; false: nobody answered in time.
  std::function<bool(const std::string&, double seconds)> ask = {};
};

std::filesystem::path undo_file(const std::filesystem::path& directory);

// Measures, makes the fault, waits until it is seen, undoes it and measures again. The record has
// the checks detected, named, restored and recovered, and what was measured. Always undoes what it
// did, also when it throws.
Record run_drill(const Drill& drill, const DrillSetup& setup);

// Undoes on every host what is open on the list, through the launcher. Throws Error naming what is
// left.
void restore_drills(const DrillSetup& setup);

}  // namespace cb
