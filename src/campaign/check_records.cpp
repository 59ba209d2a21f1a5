#include "campaign/check_records.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/text.h"

namespace cb {
namespace {

// Without a time service, hosts drift by less than this between two looks at their clocks. A
// foreign record lies hours away.
constexpr int64_t kTolerableSeconds = 120;

// How far the document's times lie outside of the job's, in seconds. 0 if they lie inside, or if
// one of them is unknown.
int64_t seconds_outside(const Job& job) {
  const auto began = seconds_since_epoch(job.started);
  const auto ended = seconds_since_epoch(job.ended);
  const auto first = seconds_since_epoch(job.document->run.started);
  const auto last = seconds_since_epoch(job.document->run.ended);
  if (!began || !ended || !first || !last) return 0;
  return std::max<int64_t>({0, *began - *first, *last - *ended});
}

// The machine that a job's records name; empty if they do not name exactly one.
std::string machine_of(const Job& job) {
  if (!job.document || job.host.empty() || job.document->run.hosts.size() != 1) return "";
  return job.document->run.hosts.front();
}

// Warns if a host's records name several machines. A host may call itself otherwise than it was
// asked for, but always by the same name.
void check_machines(Campaign& campaign) {
  std::map<std::string, const Job*> first;
  for (const Job& job : campaign.jobs) {
    const std::string machine = machine_of(job);
    if (machine.empty()) continue;
    const auto [known, is_new] = first.emplace(job.host, &job);
    if (is_new || machine_of(*known->second) == machine) continue;
    campaign.warnings.push_back(said("records.machines", terminal_safe(job.file),
                                     terminal_safe(machine), terminal_safe(known->second->file),
                                     terminal_safe(machine_of(*known->second))));
  }
}

void check_times(Campaign& campaign) {
  size_t outside = 0;
  int64_t most = 0;
  const Job* worst = nullptr;
  for (const Job& job : campaign.jobs) {
    const int64_t seconds = job.document ? seconds_outside(job) : 0;
    if (seconds <= kTolerableSeconds) continue;
    ++outside;
    if (seconds <= most) continue;
    most = seconds;
    worst = &job;
  }
  if (worst == nullptr) return;
  const std::string file = terminal_safe(worst->file),
                    at = terminal_safe(worst->document->run.started);
  campaign.warnings.push_back(outside > 1
                                  ? said("records.outside_more", file, at, most, outside - 1)
                                  : said("records.outside", file, at, most));
}

}  // namespace

void check_records(Campaign& campaign) {
  check_times(campaign);
  check_machines(campaign);
}

}  // namespace cb
