// What a person sees of a campaign that runs: the table of `status` and the board of `run`.
#pragma once

#include <string>
#include <vector>

#include "campaign/run_progress.h"

namespace cb {

// "about 3 h left", "at least 3 h left (2 steps of unknown length)", "2 steps of unknown length
// left"; empty once it has finished.
std::string left_text(const CampaignProgress& progress);

// One line per step, then where the campaign stands.
std::string progress_table(const CampaignProgress& progress);

// The lines about jobs that run: at most `lines` hosts, the longest first.
std::vector<std::string> running_lines(const StepProgress& step, size_t lines);

}  // namespace cb
