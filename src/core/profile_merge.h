#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/profile.h"

namespace cb {

// The profile of that name with all its bases merged in and no "base" left. What bases contradict
// each other in, and limits changed without a source, are added to `problems`; throws UsageError
// for what cannot be merged at all.
nlohmann::json resolve_profile_json(const std::string& name, const ProfileSource& source,
                                    Problems& problems);

}  // namespace cb
