#pragma once

#include "core/profile_expect.h"
#include "core/profile_reader.h"

namespace cb {

// True if the criterion says what was ordered: it has the key "expect", or "assets".
bool has_expect_rule(ProfileReader& r);

// Reads {"expect": {"gpu.model": "NVIDIA H20", "gpu.driver_version": ">=535.129.03", "nvme.model":
// ["A", "B"]}} and {"assets": [{"host": …, "part": …, "slot": …, "serial": …, "model": …}]}.
ExpectRule read_expect_rule(ProfileReader& r, Problems& problems);

// Says why no value can be compared with this; nothing if one can.
std::optional<std::string> bad_wanted(const std::string& wanted);

}  // namespace cb
