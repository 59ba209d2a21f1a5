// What `ethtool -m` names, the same by its text and by its JSON.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/optics/module.h"

namespace cb {

// Values by name ("laser_rx_power_high_alarm"), of a module one, of lanes one each. Text: what
// stands there; "on", "yes" and true are "on".
class EthtoolFields {
 public:
  // `lane`: from 1; 0: of the module, or of all lanes in one list, or of the only lane (SFP).
  void add(const std::string& name, const std::string& value, int lane = 0) {
    values_[name].push_back({lane, value});
  }
  bool has(const std::string& name) const { return values_.contains(name); }

  // Throws Error with the name and the value: a number that is none, infinite or negative light or
  // current, two values of one lane.
  OpticalModule module() const;

 private:
  struct LaneText {
    int lane;
    std::string text;
  };

  std::string text(const std::string& name) const;
  std::optional<double> number(const std::string& name, double unit) const;
  std::map<int, double> numbers(const std::string& name, double unit) const;  // by lane, from 1
  std::map<int, double> first_numbers(const std::vector<const char*>& names) const;
  std::optional<ModuleLimits> limits(const std::string& name, double unit) const;
  std::set<int> flags(const std::string& name) const;  // lanes from 1 with the flag on
  void add_lanes(OpticalModule& out) const;
  void add_flags(OpticalModule& out) const;

  std::map<std::string, std::vector<LaneText>> values_;
};

struct EthtoolName {
  std::string name;
  int lane = 0;  // 0: the label has no channel
};
// "Laser rx power high alarm   (Channel 2)" is laser_rx_power_high_alarm of lane 2.
EthtoolName ethtool_name(std::string_view label);

}  // namespace cb
