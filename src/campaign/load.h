#pragma once

#include <filesystem>

#include "core/catalogue.h"
#include "judge/campaign_data.h"

namespace cb {

// How much of a soak's middle cycles is kept: a week on a hundred hosts has more than memory.
enum class Keep {
  summaries,  // of every figure its summary; no time lines
  samples     // for a reader who compares distributions
};

// Reads a campaign's directory. Throws UsageError if it is none, or of a newer schema. A torn line
// of the journal is a warning, an unusable record file a failed job with the reason; nothing is
// written. With the catalogue, records must have the parameters and the units that their cases
// declare.
Campaign load_campaign(const std::filesystem::path& directory, const Catalogue& catalogue,
                       Keep keep = Keep::summaries);

}  // namespace cb
