#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// A counter of faults that grew on one host, on one entity or on several at once.
struct FaultGrowth {
  double at = 0;  // seconds since its record began; 0 where that is not known
  std::string counter;
  std::vector<std::pair<std::string, double>> grew = {};  // entity and by how much, the most first
};

// What the counters of faults did while a step ran.
struct FaultCounters {
  std::vector<FaultGrowth> timed = {};    // in order of time
  std::vector<FaultGrowth> untimed = {};  // grew, of which no series tells when
  std::set<std::string> read_on = {};     // hosts of which a counter was read
  std::set<std::string> hosts = {};       // hosts of which anything was read over time
};
FaultCounters fault_counters(const Campaign& campaign, const Step& step);

// True for what ought not to grow: errors, and slowing by heat. Other counters count work.
bool counts_faults(std::string_view counter);

}  // namespace cb
