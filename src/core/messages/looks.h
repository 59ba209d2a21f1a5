#pragma once

#include <vector>

#include "core/messages/said.h"

namespace cb {

// The same notes in their order, each that counts looks ("{0} was at its power limit in {1} of {2}
// looks") with the counts of all that say it of the same part.
std::vector<Said> looks_added_up(std::vector<Said> notes);

}  // namespace cb
