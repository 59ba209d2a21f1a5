#pragma once

#include <string>
#include <vector>

#include "core/result.h"
#include "judge/campaign_data.h"

// Which hosts an attempt speaks against. Pure.
namespace cb {

// Which hosts are taken out while a campaign runs, beside those that fail its first look at them.
enum class Exclude {
  never,
  lost,    // hosts that do not answer, and hosts that the watchdogs name in a hang
  failing  // besides, hosts on which a step fails or finds wrong data
};

const char* exclude_name(Exclude exclude);  // "never", "lost", "failing"
std::vector<std::string> exclude_names();

// The hosts that a partial document's reason names, as the watchdogs of a job saw them last
// (model/hang.h): ranks that failed, were lost, fell silent or did not arrive. Names are those that
// the ranks use. Empty if the reason names nobody.
std::vector<std::string> suspects_of(const RunInfo& run);

// True if the job's own host is bad: it did not get done, or it found wrong data or an error.
bool has_failed(JobState state, const Document* document);

// If more than half of the hosts fail, it is the step's fault and not theirs.
bool too_many_to_blame(size_t blamed, size_t taking_part);

}  // namespace cb
