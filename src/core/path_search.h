#pragma once

#include <string>

namespace cb {

// The first executable file of that name in the directories that PATH, or `path`, lists; empty if
// none has one.
std::string file_in_path(const std::string& program);
std::string file_in_path(const std::string& program, const std::string& path);

// Where PATH is not set.
inline constexpr const char* kPlainPath = "/usr/bin:/bin";

}  // namespace cb
