// What of a soak was watched, and what of it was soaked at all.
#include <algorithm>
#include <map>
#include <set>

#include "core/clock.h"
#include "core/profile_soak.h"
#include "judge/soak.h"

namespace cb {
namespace {

bool is_load(const Campaign& campaign, const Job& job) {
  return job.cycle > 0 && !is_last_reading(campaign.profile, job.cycle) && !job.started.empty() &&
         job.state != JobState::missing && job.state != JobState::not_applicable;
}

// The end of the last load on each host. "" has that of the jobs across all hosts.
std::map<std::string, std::string> ends_of_loads(const Campaign& campaign) {
  std::map<std::string, std::string> out;
  for (const Job& job : campaign.jobs) {
    if (!is_load(campaign, job)) continue;
    std::vector<std::string> hosts = job.members;
    if (hosts.empty()) hosts.push_back(job.host);
    for (const std::string& host : hosts) out[host] = std::max(out[host], job.ended);
  }
  return out;
}

double seconds_of(const Job& job) {
  const auto begin = seconds_since_epoch(job.started), end = seconds_since_epoch(job.ended);
  return begin && end && *end > *begin ? static_cast<double>(*end - *begin) : 0;
}

}  // namespace

LastReading last_reading(const Campaign& campaign) {
  LastReading out;
  std::map<std::string, std::string> loads = ends_of_loads(campaign);
  for (const auto& [host, ended] : loads) out.loads_ended = std::max(out.loads_ended, ended);
  for (const Job& job : campaign.jobs) {
    if (!is_last_reading(campaign.profile, job.cycle) || job.state == JobState::not_applicable)
      continue;
    out.planned = true;
    const std::string& own = job.host.empty() ? out.loads_ended : loads[job.host];
    if (job.state != JobState::done || job.started < std::max(own, loads[""])) {
      out.open.push_back(&job);
      continue;
    }
    if (out.at.empty() || job.ended < out.at) out.at = job.ended;
  }
  return out;
}

Message soak_cycle_name(const Campaign& campaign, size_t cycle) {
  if (is_last_reading(campaign.profile, cycle)) return {"soak.last_reading", {}};
  return {"soak.cycle", {cycle}};
}

std::vector<MadeUp> made_up_cycles(const Campaign& campaign) {
  std::map<std::string, std::map<size_t, bool>> cycles;  // by host: true if any job was made up
  std::map<std::string, double> seconds;
  for (const Job& job : campaign.jobs) {
    if (!is_load(campaign, job) || job.host.empty()) continue;
    cycles[job.host][job.cycle] |= job.made_up;
    if (job.made_up) seconds[job.host] += seconds_of(job);
  }
  std::vector<MadeUp> out;
  for (const auto& [host, of_host] : cycles) {
    MadeUp row{.host = host, .soaked = 0, .made_up = 0, .seconds = seconds[host]};
    for (const auto& [cycle, late] : of_host) ++(late ? row.made_up : row.soaked);
    if (row.made_up > 0) out.push_back(std::move(row));
  }
  return out;
}

}  // namespace cb
