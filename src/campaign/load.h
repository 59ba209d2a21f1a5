#pragma once

#include <filesystem>

#include "judge/campaign_data.h"

namespace cb {

// Reads a campaign's directory. Throws UsageError if it is none, or of a newer schema. A torn line
// of the journal is a warning, an unusable record file a failed job with the reason; nothing is
// written.
Campaign load_campaign(const std::filesystem::path& directory);

}  // namespace cb
