#include "model/disturbance.h"

#include <algorithm>
#include <map>

namespace cb {

std::optional<double> share_of_others(const Record& record, const std::string& host) {
  std::map<std::string, double> capacity;
  for (const Delta& d : record.telemetry.deltas) {
    if (d.name == kHostCpuSeconds) capacity[record.entities.at(d.entity).host] = d.after - d.before;
  }
  std::optional<double> most;
  for (const Delta& d : record.telemetry.deltas) {
    const std::string& of = record.entities.at(d.entity).host;
    if (d.name != kOthersCpuSeconds || (!host.empty() && of != host)) continue;
    const auto found = capacity.find(of);
    if (found == capacity.end() || found->second <= 0) continue;
    most = std::max(most.value_or(0), (d.after - d.before) / found->second);
  }
  return most;
}

bool disturbed(const Record& record, const std::string& host) {
  return share_of_others(record, host).value_or(0) > kDisturbedShare;
}

bool can_suffer(std::string_view unit) {
  return unit == "seconds" || unit.ends_with("_per_second");
}

}  // namespace cb
