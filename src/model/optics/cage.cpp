#include "model/optics/cage.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <tuple>
#include <utility>

namespace cb {
namespace {

constexpr double kCageCelsius = 2, kCageDecibels = 1.001, kCageBias = 1.1;

// Both told, or neither.
template <typename Near>
bool is_near(const std::optional<double>& a, const std::optional<double>& b, Near near) {
  return a && b ? near(*a, *b) : a.has_value() == b.has_value();
}

// Whole decibels are the least step that some firmware tells.
bool is_near_light(const std::optional<double>& a, const std::optional<double>& b) {
  return is_near(a, b, [](double one, double other) {
    const auto level = dbm(one), against = dbm(other);
    return level && against ? std::abs(*level - *against) <= kCageDecibels
                            : level.has_value() == against.has_value();
  });
}

bool is_near_lane(const ModuleLane& a, const ModuleLane& b) {
  return is_near_light(a.receive_watts, b.receive_watts) &&
         is_near_light(a.send_watts, b.send_watts) &&
         is_near(a.bias_amperes, b.bias_amperes, [](double one, double other) {
           return std::max(one, other) <= kCageBias * std::min(one, other);
         });
}

std::set<std::tuple<std::string, int, bool>> flags_of(const OpticalModule& module) {
  std::set<std::tuple<std::string, int, bool>> out;
  for (const ModuleFlag& flag : module.flags) out.emplace(flag.what, flag.lane, flag.alarm);
  return out;
}

std::multiset<std::string> finding_kinds(const OpticalModule& module) {
  std::multiset<std::string> out;
  for (const ModuleFinding& f :
       audit_modules({{.host = "", .port = "", .module = module}}).findings)
    out.insert(f.kind);
  return out;
}

}  // namespace

bool is_one_serial(const OpticalModule& a, const OpticalModule& b) {
  return !a.serial.empty() && a.serial == b.serial && a.part_number == b.part_number &&
         a.vendor == b.vendor;
}

bool reads_alike(const OpticalModule& a, const OpticalModule& b) {
  return a.state == b.state && a.inactive_lanes == b.inactive_lanes && flags_of(a) == flags_of(b) &&
         is_near(a.celsius, b.celsius,
                 [](double one, double other) { return std::abs(one - other) <= kCageCelsius; }) &&
         std::ranges::equal(a.lanes, b.lanes, is_near_lane) && finding_kinds(a) == finding_kinds(b);
}

}  // namespace cb
