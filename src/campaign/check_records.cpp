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

// How far the document's times lie outside of the attempt's, in seconds. 0 if they lie inside, or
// if one of them is unknown.
int64_t seconds_outside(const RecordOrigin& r) {
  const auto began = seconds_since_epoch(r.began), ended = seconds_since_epoch(r.ended);
  const auto first = seconds_since_epoch(r.first), last = seconds_since_epoch(r.last);
  if (!began || !ended || !first || !last) return 0;
  return std::max<int64_t>({0, *began - *first, *last - *ended});
}

// Warns if a host's records name several machines. A host may call itself otherwise than it was
// asked for, but always by the same name.
void check_machines(const std::vector<RecordOrigin>& records, Campaign& campaign) {
  std::map<std::string, const RecordOrigin*> first;
  for (const RecordOrigin& r : records) {
    if (r.machine.empty() || r.host.empty()) continue;
    const auto [known, is_new] = first.emplace(r.host, &r);
    if (is_new || known->second->machine == r.machine) continue;
    campaign.warnings.push_back(said("records.machines", terminal_safe(r.file),
                                     terminal_safe(r.machine), terminal_safe(known->second->file),
                                     terminal_safe(known->second->machine)));
  }
}

void check_times(const std::vector<RecordOrigin>& records, Campaign& campaign) {
  size_t outside = 0;
  int64_t most = 0;
  const RecordOrigin* worst = nullptr;
  for (const RecordOrigin& r : records) {
    const int64_t seconds = seconds_outside(r);
    if (seconds <= kTolerableSeconds) continue;
    ++outside;
    if (seconds <= most) continue;
    most = seconds;
    worst = &r;
  }
  if (worst == nullptr) return;
  const std::string file = terminal_safe(worst->file), at = terminal_safe(worst->first);
  campaign.warnings.push_back(outside > 1
                                  ? said("records.outside_more", file, at, most, outside - 1)
                                  : said("records.outside", file, at, most));
}

}  // namespace

RecordOrigin origin_of(const Job& job, const std::string& file, const RunInfo& run) {
  return {.file = file,
          .began = job.started,
          .ended = job.ended,
          .first = run.started,
          .last = run.ended,
          .host = job.host,
          .machine = run.hosts.size() == 1 ? run.hosts.front() : ""};
}

void check_records(const std::vector<RecordOrigin>& records, Campaign& campaign) {
  check_times(records, campaign);
  check_machines(records, campaign);
}

}  // namespace cb
