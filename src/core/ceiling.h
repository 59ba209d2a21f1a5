#pragma once

#include "core/result.h"

namespace cb {

// True if the ceiling was measured on the machine that it is about, by another loop or as the sum
// of parts: no law of nature, so that a limit above it is a slow machine and no mistake of the
// profile.
bool is_measured(const Ceiling& ceiling);

}  // namespace cb
