#pragma once

#include <functional>
#include <string>
#include <vector>

#include "campaign/directory.h"
#include "campaign/journal.h"
#include "core/result.h"

namespace cb {

// The name for this attempt's document, relative to the directory: the job's plain name if the job
// is done and no file has that name yet, else the attempt's own name.
std::string record_name(const CampaignPaths& paths, const JobEvent& event);

// Finds documents of attempts of which the journal has the start but no document: the run was
// killed, but the job still wrote its results. Gives each complete document its name, and returns
// the events to journal: of a document that cannot be read the job's end, without a digest. `unmet`
// says how many criteria a job's document misses or leaves open.
using UnmetOf = std::function<int(const std::string& job, const Document& document)>;
std::vector<JobEvent> adopt_leftovers(const CampaignPaths& paths, const Journal& journal,
                                      const UnmetOf& unmet);

}  // namespace cb
