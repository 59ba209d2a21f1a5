#include "report/fault_counters.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <tuple>

#include "report/view_parts.h"

namespace cb {
namespace {

// Of sys/cpu/host_telemetry, sys/gpu/nvml/telemetry and bench/storage/io/device_watch.
constexpr std::array<std::string_view, 17> kFaults{"core_throttle_count",
                                                   "package_throttle_count",
                                                   "corrected_memory_errors",
                                                   "uncorrected_memory_errors",
                                                   "ecc_corrected",
                                                   "ecc_uncorrected",
                                                   "rows_remapped_correctable",
                                                   "rows_remapped_uncorrectable",
                                                   "pcie_replays",
                                                   "nvlink_errors",
                                                   "thermal_seconds",
                                                   "nvme_media_errors",
                                                   "nvme_error_log_entries",
                                                   "nvme_warning_temperature_time",
                                                   "nvme_critical_temperature_time",
                                                   "nvme_light_throttle_time",
                                                   "nvme_heavy_throttle_time"};

// What grew at once on several entities of a host is one growth: each core tells of its package.
class Collector {
 public:
  void add(const Record& record) {
    std::map<std::pair<std::string_view, size_t>, double> told;  // by series
    for (const Series& s : record.telemetry.series) {
      const Entity& entity = record.entities.at(s.entity);
      out_.hosts.insert(entity.host);
      if (counts_faults(s.name)) told[{s.name, s.entity}] += add_steps(s, entity);
    }
    for (const Delta& d : record.telemetry.deltas) {
      if (!counts_faults(d.name)) continue;
      const Entity& entity = record.entities.at(d.entity);
      out_.read_on.insert(entity.host);
      const double rest = d.after - d.before - told[{d.name, d.entity}];
      if (rest > 0) merge(untimed_, entity, d.name, 0, rest);
    }
  }

  FaultCounters collected() {
    move_to(out_.timed, timed_);
    move_to(out_.untimed, untimed_);
    return std::move(out_);
  }

 private:
  using Key = std::tuple<double, std::string, std::string>;  // time, host, counter

  // Returns how much the series grew.
  double add_steps(const Series& s, const Entity& entity) {
    double grown = 0;
    for (size_t i = 1; i < std::min(s.at.size(), s.values.size()); ++i) {
      const double by = s.values[i] - s.values[i - 1];
      if (by <= 0) continue;
      merge(timed_, entity, s.name, s.at[i], by);
      grown += by;
    }
    return grown;
  }

  static void merge(std::map<Key, FaultGrowth>& into, const Entity& entity,
                    const std::string& counter, double at, double by) {
    FaultGrowth& growth = into[{at, entity.host, counter}];
    growth.at = at;
    growth.counter = counter;
    const std::string name = entity_name(entity);
    auto found = std::ranges::find(growth.grew, name, &std::pair<std::string, double>::first);
    if (found == growth.grew.end()) found = growth.grew.insert(found, {name, 0});
    found->second += by;
  }

  static void move_to(std::vector<FaultGrowth>& out, std::map<Key, FaultGrowth>& from) {
    for (auto& [key, growth] : from) {
      std::ranges::stable_sort(growth.grew, std::greater{},
                               &std::pair<std::string, double>::second);
      out.push_back(std::move(growth));
    }
  }

  FaultCounters out_;
  std::map<Key, FaultGrowth> timed_, untimed_;
};

}  // namespace

bool counts_faults(std::string_view counter) {
  return std::ranges::find(kFaults, counter.substr(0, counter.find(' '))) != kFaults.end();
}

FaultCounters fault_counters(const Campaign& campaign, const Step& step) {
  Collector collector;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) collector.add(record);
  }
  return collector.collected();
}

}  // namespace cb
