#pragma once

#include <set>
#include <string>
#include <utility>

#include "judge/campaign_data.h"
#include "judge/verdict.h"

namespace cb {

// A job is measured at most this often. After that its figures count as they are.
inline constexpr size_t kMaxAttempts = 4;

// The jobs to measure once more before a verdict, as pairs of step and Job::label() (empty: a job
// across all hosts). These are jobs with an inconclusive figure, and jobs of at most two minutes
// whose figures fail a criterion of severity `fail`, until they were measured kMaxAttempts times.
// Differences between hosts, limits beyond physics and every job with a failed check, an errored or
// a skipped record are final, and so are the cycles of a soak. `judgement` must be of this campaign
// by its own profile.
std::set<std::pair<std::string, std::string>> jobs_to_repeat(const Campaign& campaign,
                                                             const Judgement& judgement);

// True if more samples might close the gap: the figure was measured, but lies too near to the
// limit.
bool is_inconclusive(const Gap& gap);

// Number of the step's criteria that the figures of this one document miss or leave open, as far as
// one document can be judged without other steps and hosts.
int unmet_criteria(const Profile& profile, const std::string& step, size_t hosts,
                   const Document& document);

}  // namespace cb
