#include "campaign/check_times.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/text.h"

namespace cb {
namespace {

// Hosts without a time service drift by less between two looks at them; a foreign record lies
// hours away.
constexpr int64_t kTolerableSeconds = 120;

// How far the document's own times lie outside of the job's, in seconds; 0 inside, or where one of
// them is not known.
int64_t seconds_outside(const Job& job) {
  const auto began = seconds_since_epoch(job.started);
  const auto ended = seconds_since_epoch(job.ended);
  const auto first = seconds_since_epoch(job.document->run.started);
  const auto last = seconds_since_epoch(job.document->run.ended);
  if (!began || !ended || !first || !last) return 0;
  return std::max<int64_t>({0, *began - *first, *last - *ended});
}

}  // namespace

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
  campaign.warnings.push_back(
      fmt::format("{} was taken at {}, {} s outside of the time in which its job ran{}: set the "
                  "clocks of the hosts "
                  "(NTP), or it belongs to another campaign",
                  terminal_safe(worst->file), worst->document->run.started, most,
                  outside > 1 ? fmt::format(" ({} more likewise)", outside - 1) : ""));
}

}  // namespace cb
