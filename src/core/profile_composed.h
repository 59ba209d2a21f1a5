#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/profile.h"

namespace cb {

// Names of profiles joined by '+', as "h200-sxm-cluster+ib-ndr400": a profile that has these as its
// bases and nothing of its own.

// The joined names; empty where `name` is not of that form.
std::vector<std::string> composed_parts(const std::string& name);

// The text of that profile. Its title is the titles of its parts, or the name of a part that has
// none. Nothing where `name` is not of that form.
std::optional<std::string> composed_profile(const std::string& name, const ProfileSource& source);

}  // namespace cb
