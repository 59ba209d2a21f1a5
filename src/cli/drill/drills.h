// The drills: faults that are made on purpose, and how each is expected to be seen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cb {

// What is done to a host, and undone.
enum class DrillAction {
  stop,   // SIGSTOP to the ranks of the measurement on the host
  kill,   // SIGKILL to them
  slow,   // tc tbf on an interface
  cut,    // an interface set down; the host sets it up again by itself
  fill,   // a file that fills a file system of limited size
  xid,    // a file that makes the stand-in of NVML report an Xid
  manual  // a person does it
};

struct Drill {
  std::string id;
  DrillAction action = DrillAction::stop;
  std::string what;         // what happens, for `list`
  std::string expected;     // how it must be seen
  bool needs_part = false;  // --part: an interface or a directory
  std::string part_help = {};
};

const std::vector<Drill>& all_drills();
const Drill* find_drill(std::string_view id);
std::vector<std::string> drill_ids();

}  // namespace cb
