#pragma once

#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "model/optics/module.h"

namespace cb {

// A port's lines of SONiC's `show interfaces transceiver status`: flags of the module and its
// lanes, the state of a CMIS module and of its data paths. Other lines are not read.
class SonicStatus {
 public:
  // Throws Error where a flag is neither True, False nor N/A, or a state is not known.
  void take(std::string_view name, std::string_view value);
  void add_to(OpticalModule& module) const;

 private:
  std::map<std::pair<std::string_view, int>, bool> raised_;  // what and lane: an alarm
  std::optional<int> state_;
  std::vector<int> inactive_;
};

}  // namespace cb
