#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/optics/module.h"

namespace cb {

// What stands in SONiC's `show interfaces transceiver status` alone.
bool is_sonic_status(std::string_view text);

// How many lanes one application of a module has on either side. On a breakout several of them
// stand side by side.
struct SonicApplication {
  int host_lanes = 1, media_lanes = 1;
};

// A port's lines of SONiC's `show interfaces transceiver status`: flags of the module and its
// lanes, the state of a CMIS module and of its data paths. Other lines are not read.
class SonicStatus {
 public:
  // Throws Error where a flag is neither True, False nor N/A, or a state is not known.
  void take(std::string_view name, std::string_view value);
  void add_to(OpticalModule& module, const SonicApplication& application) const;

  bool is_there() const { return there_; }  // a line of it was read
  bool is_faulty() const;

 private:
  std::map<std::pair<std::string, int>, bool> raised_;  // what and lane: an alarm
  std::optional<int> state_;
  std::vector<int> inactive_;  // host lanes
  bool there_ = false;
};

}  // namespace cb
