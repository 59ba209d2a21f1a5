// On which hosts the jobs of a step run: the key "scope" of a profile's step.
#pragma once

#include <array>
#include <string_view>

#include "core/error.h"
#include "core/profile.h"

namespace cb {

class ProfileReader;

// What stands for a rail in params and env of a step of scope rails: its number from 0, the id of
// its RDMA port, the name of that port's network interface.
inline constexpr std::array<std::string_view, 3> kRailWords{"{rail}", "{rdma}", "{nic}"};

// Reads "scope", "group_size" and "rails".
void read_scope(ProfileReader& reader, Step& step);

// The number of hosts of the step's smallest job; 0: any number. With fewer hosts the step is not
// applicable.
int least_hosts(const Step& step);

// Reports a step of scope rails whose jobs would all do the same, and words for a rail elsewhere.
void validate_scope(const Step& step, Problems& problems);

}  // namespace cb
