#pragma once

#include <filesystem>
#include <string>

#include "core/descriptor.h"

namespace cb {

// The end of a path: an open directory and a name in it that is not a symbolic link (the name may
// not exist). It stays this place whatever somebody does to the path later.
struct PathEnd {
  Descriptor directory;  // opened with O_PATH
  std::string name;
  // True for the kernel's own link to an open file (/proc/self/fd/1): only the kernel can follow
  // it.
  bool kernels_link = false;
};

// Follows the path step by step. Follows a link only if those who may change it may also change
// what is named. So a link of another user (except root) is refused at the end of the path, and
// before its end if everybody may write there (as the kernel does with fs.protected_symlinks, which
// is not set everywhere). Throws Error with the reason, without the path.
PathEnd locate(const std::filesystem::path& path);

}  // namespace cb
