// What `ethtool -m` names, the same by its text and by its JSON.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/optics/module.h"

namespace cb {

// Values by name ("laser_rx_power_high_alarm"), of a module one, of lanes one each. Text: what
// stands there; "on", "yes" and true are "on".
class EthtoolFields {
 public:
  void add(const std::string& name, const std::string& value) { values_[name].push_back(value); }
  bool has(const std::string& name) const { return values_.contains(name); }

  // Throws Error with the name and the value where a number is no number.
  OpticalModule module() const;

 private:
  std::string text(const std::string& name) const;
  std::optional<double> number(const std::string& name, double unit) const;
  std::vector<double> numbers(const std::string& name, double unit) const;
  std::optional<ModuleLimits> limits(const std::string& name, double unit) const;
  std::vector<bool> flags(const std::string& name) const;
  void add_lanes(OpticalModule& out) const;
  void add_flags(OpticalModule& out) const;

  std::map<std::string, std::vector<std::string>> values_;
};

// "Laser rx power high alarm   (Channel 2)" is laser_rx_power_high_alarm.
std::string ethtool_name(std::string_view label);

}  // namespace cb
