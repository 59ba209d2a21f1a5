#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/profile.h"

namespace cb {

// Names of profiles joined by '+', such as "h200-sxm-cluster+ib-ndr400": a profile with these bases
// and nothing else.

// Returns the joined names; empty if `name` does not have that form.
std::vector<std::string> composed_parts(const std::string& name);

// Returns the text of that profile; nothing if `name` does not have that form. Its title joins the
// titles of its parts; a part without a title is called by its name.
std::optional<std::string> composed_profile(const std::string& name, const ProfileSource& source);

}  // namespace cb
