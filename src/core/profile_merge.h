#pragma once

#include <nlohmann/json_fwd.hpp>

#include "core/profile.h"

namespace cb {

// The profile of that name with all its bases merged in and no "base" left. Throws UsageError.
nlohmann::json resolve_profile_json(const std::string& name, const ProfileSource& source);

}  // namespace cb
