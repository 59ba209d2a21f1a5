#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/profile.h"

namespace cb {

// Returns the profile with that name, with all its bases merged in and no "base" left. Adds
// contradictions between bases, and limits changed without a source, to `problems`. Throws
// UsageError for what cannot be merged at all.
nlohmann::json resolve_profile_json(const std::string& name, const ProfileSource& source,
                                    Problems& problems);

}  // namespace cb
