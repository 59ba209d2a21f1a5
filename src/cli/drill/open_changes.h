#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cb {

// A line for each drill of the campaign whose changes are not undone: host, what, and the command
// that undoes it. A list that is no file of this user counts as well.
std::vector<std::string> open_drill_changes(const std::filesystem::path& campaign);

}  // namespace cb
