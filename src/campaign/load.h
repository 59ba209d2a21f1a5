#pragma once

#include <filesystem>

#include "core/catalogue.h"
#include "judge/campaign_data.h"

namespace cb {

// Reads a campaign's directory. Throws UsageError if it is none, or of a newer schema. A torn line
// of the journal is a warning, an unusable record file a failed job with the reason; nothing is
// written. With the catalogue, records
// must have the parameters and the units that their cases declare.
Campaign load_campaign(const std::filesystem::path& directory, const Catalogue& catalogue);

}  // namespace cb
