#pragma once

#include <vector>

#include "campaign/directory.h"
#include "campaign/journal.h"

namespace cb {

// The name that a document of this attempt gets, relative to the directory: the job's plain name if
// the job is done and no file has it yet, else one of the attempt's own.
std::string record_name(const CampaignPaths& paths, const JobEvent& event);

// Documents of attempts that the journal knows the begin of and no document: the run that began
// them was killed, and the job wrote its results nevertheless, or was killed later. What is whole
// gets its name, and is returned to be journaled.
std::vector<JobEvent> adopt_leftovers(const CampaignPaths& paths, const Journal& journal);

}  // namespace cb
