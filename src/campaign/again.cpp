#include "campaign/again.h"

#include <algorithm>
#include <iterator>

#include "campaign/attempts.h"
#include "core/clock.h"
#include "core/profile_drills.h"
#include "core/profile_limits.h"
#include "judge/applies.h"
#include "judge/verdict_attempts.h"

namespace cb {
namespace {

constexpr int64_t kMaxSeconds = 120;
// What is measured more often must not take back what so many measurements have said.
static_assert(kMaxAttempts == kDecidingAttempts);

using JobNames = std::set<std::pair<std::string, std::string>>;

size_t attempts_of(const Job& job) {
  size_t most = 1;
  for (const Record& record : job.document->records) {
    for (const Metric& metric : record.metrics) most = std::max(most, metric.attempts.size());
  }
  return most;
}

// A soak's job is one of many cycles, and a drill is made by a person who asks for it.
bool is_repeatable(const Job& job) { return job.cycle == 0 && !is_drill_step(job.step); }

// After kMaxAttempts measurements an open verdict is final: more of them would be waiting for luck.
bool may_go_on(const Campaign& campaign, const CriterionVerdict& v, const Gap& gap) {
  return std::ranges::any_of(campaign.jobs, [&](const Job& job) {
    return is_repeatable(job) && job.step == v.criterion->step && job.host == gap.host &&
           job.group == gap.group && job.document && attempts_of(job) < kMaxAttempts;
  });
}

bool short_enough(const Job& job) {
  const auto began = seconds_since_epoch(job.document->run.started);
  const auto ended = seconds_since_epoch(job.document->run.ended);
  return began && ended && *ended - *began <= kMaxSeconds;
}

// True if a figure misses a limit. A failed check has no figure.
bool is_figure(const CriterionVerdict& v, const Finding& f) {
  return std::holds_alternative<MetricRule>(v.criterion->rule) && f.failing && f.value && f.limit;
}

void add_failing(const CriterionVerdict& v, const Campaign& campaign, JobNames& out) {
  for (const Finding& f : v.failing) {
    if (!is_figure(v, f)) continue;
    for (const Job& job : campaign.jobs) {
      if (job.document && is_repeatable(job) && job.step == v.criterion->step &&
          job.file == f.file && short_enough(job) && attempts_of(job) < kMaxAttempts)
        out.emplace(job.step, job.label());
    }
  }
}

bool judges_alone(const Criterion& criterion, const std::string& step) {
  const auto* rule = std::get_if<MetricRule>(&criterion.rule);
  return criterion.step == step && criterion.severity == Severity::fail && rule != nullptr &&
         !rule->min_of_fleet && !rule->max_of_fleet && rule->since.empty();
}

// Looks only at the criterion's needs about the number of hosts; needs about a host's parts are
// judged elsewhere.
bool is_for(size_t hosts, const Criterion& criterion) {
  Requirements of_hosts;
  for (const auto& need : criterion.needs) {
    if (counts_hosts(need.first)) of_hosts.insert(need);
  }
  return check_needs(of_hosts, hosts, {}).fit == Fit::met;
}

Profile profile_of_step(const Profile& profile, const std::string& step, size_t hosts) {
  Profile out;
  std::ranges::copy_if(profile.criteria, std::back_inserter(out.criteria), [&](const Criterion& c) {
    return judges_alone(c, step) && is_for(hosts, c);
  });
  for (Criterion& criterion : out.criteria) criterion.needs.clear();
  return out;
}

}  // namespace

bool is_inconclusive(const Gap& gap) {
  return gap.what.id == "why.unsure" || gap.what.id == "why.disputed" ||
         gap.what.id == "why.disturbed";
}

int unmet_criteria(const Profile& profile, const std::string& step, size_t hosts,
                   const Document& document) {
  Campaign campaign;
  campaign.profile = profile_of_step(profile, step, hosts);
  campaign.jobs = {{.step = step, .state = JobState::done}};
  campaign.jobs.front().document = document;
  const Judgement judgement = judge(campaign, campaign.profile, {}, utc_now().substr(0, 10));
  return static_cast<int>(std::ranges::count_if(judgement.criteria, [](const auto& v) {
    return !v.failing.empty() ||
           std::ranges::any_of(v.gaps, [](const Gap& gap) { return is_inconclusive(gap); });
  }));
}

JobNames jobs_to_repeat(const Campaign& campaign, const Judgement& judgement) {
  JobNames out;
  for (const CriterionVerdict& v : judgement.criteria) {
    for (const Gap& gap : v.gaps) {
      if (is_inconclusive(gap) && may_go_on(campaign, v, gap))
        out.emplace(v.criterion->step, gap.host.empty() ? gap.group : gap.host);
    }
    if (v.criterion->severity == Severity::fail && !v.impossible) add_failing(v, campaign, out);
  }
  // No new measurement takes bad news back, so these jobs are not repeated.
  for (const Job& job : campaign.jobs) {
    if (job.document && bad_news(*job.document).any()) out.erase({job.step, job.label()});
  }
  return out;
}

}  // namespace cb
