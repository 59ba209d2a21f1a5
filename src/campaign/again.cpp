#include "campaign/again.h"

#include <algorithm>

#include "campaign/attempts.h"
#include "core/clock.h"

namespace cb {
namespace {

constexpr int64_t kLongestSeconds = 120;

using JobNames = std::set<std::pair<std::string, std::string>>;

bool is_inconclusive(const Gap& gap) {
  return gap.what.id == "why.unsure" || gap.what.id == "why.disputed" ||
         gap.what.id == "why.disturbed";
}

bool short_enough(const Job& job) {
  const auto began = seconds_since_epoch(job.document->run.started);
  const auto ended = seconds_since_epoch(job.document->run.ended);
  return began && ended && *ended - *began <= kLongestSeconds;
}

size_t attempts_of(const Job& job) {
  size_t most = 1;
  for (const Record& record : job.document->records) {
    for (const Metric& metric : record.metrics) most = std::max(most, metric.attempts.size());
  }
  return most;
}

// A figure against a limit: a failed check has none.
bool is_figure(const CriterionVerdict& v, const Finding& f) {
  return std::holds_alternative<MetricRule>(v.criterion->rule) && f.failing && f.value && f.limit;
}

void add_failing(const CriterionVerdict& v, const Campaign& campaign, JobNames& out) {
  for (const Finding& f : v.failing) {
    if (!is_figure(v, f)) continue;
    for (const Job& job : campaign.jobs) {
      if (job.document && job.step == v.criterion->step && job.file == f.file &&
          short_enough(job) && attempts_of(job) < kMostAttempts)
        out.emplace(job.step, job.host);
    }
  }
}

}  // namespace

JobNames jobs_to_repeat(const Campaign& campaign, const Judgement& judgement) {
  JobNames out;
  for (const CriterionVerdict& v : judgement.criteria) {
    for (const Gap& gap : v.gaps) {
      if (is_inconclusive(gap)) out.emplace(v.criterion->step, gap.host);
    }
    if (v.criterion->severity == Severity::fail && !v.impossible) add_failing(v, campaign, out);
  }
  // Nothing that is measured again takes these back, so the job stays what it is.
  for (const Job& job : campaign.jobs) {
    if (job.document && bad_news(*job.document).any()) out.erase({job.step, job.host});
  }
  return out;
}

}  // namespace cb
