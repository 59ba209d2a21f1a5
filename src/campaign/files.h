#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cb {

// Every regular file below the campaign's directory but half-written ones and the scratch
// directory, relative to it, with '/', in the order of bytes. Links are not followed.
std::vector<std::string> campaign_files(const std::filesystem::path& directory);

// Whether a name read from a file stays below the directory that it is joined to.
bool is_inside(const std::string& file);

}  // namespace cb
