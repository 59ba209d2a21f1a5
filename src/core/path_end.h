#pragma once

#include <filesystem>
#include <string>

#include "core/descriptor.h"

namespace cb {

// Where a path ends: an open directory and a name in it that is no symbolic link (there may be
// nothing of that name). Whatever somebody does to the path afterwards, it is this place.
struct PathEnd {
  Descriptor directory;  // O_PATH
  std::string name;
  // The kernel's own link to something that is open (/proc/self/fd/1): only the kernel follows it.
  bool kernels_link = false;
};

// Follows the path step by step. A link leads on only if those who may change it may also change
// what is named: a link of another user (root apart) is refused at the end of the path, and in
// front of it where everybody may write (as the kernel does with fs.protected_symlinks, which is
// not set everywhere). Throws Error that says why, without the path.
PathEnd locate(const std::filesystem::path& path);

}  // namespace cb
