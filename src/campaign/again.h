#pragma once

#include <set>
#include <string>
#include <utility>

#include "judge/campaign_data.h"
#include "judge/verdict.h"

namespace cb {

// A job is measured at most so often before its figures count as they are.
inline constexpr size_t kMaxAttempts = 4;

// Steps and hosts (empty: across all) that should be measured once more before anything is said:
// those that are inconclusive, and those of at most two minutes whose figures fail a criterion of
// severity `fail`, until they were measured kMaxAttempts times. Differences between hosts, limits
// beyond physics and every job with a failed check, an errored or a skipped record are final.
// `judgement` is of this campaign and its own profile.
std::set<std::pair<std::string, std::string>> jobs_to_repeat(const Campaign& campaign,
                                                             const Judgement& judgement);

// Whether more samples might close it: the figure was measured, and lies too near to the limit.
bool is_inconclusive(const Gap& gap);

// How many criteria of a step the figures of this one document miss or leave open, as far as they
// can be judged without other steps and hosts.
int unmet_criteria(const Profile& profile, const std::string& step, size_t hosts,
                   const Document& document);

}  // namespace cb
