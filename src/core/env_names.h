#pragma once

#include <optional>
#include <string>

namespace cb {

// Says why a file may not set this variable for a job: it is not a valid name, or it decides which
// program or library runs (LD_PRELOAD, PATH, an agent of the launcher). Nothing if it may.
std::optional<std::string> refused_variable(const std::string& name);

}  // namespace cb
