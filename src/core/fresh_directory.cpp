#include "core/fresh_directory.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <stdlib.h>

#include "core/error.h"

namespace cb {

namespace fs = std::filesystem;

FreshDirectory::FreshDirectory(const fs::path& parent, const std::string& name) {
  std::string path = (fs::absolute(parent) / (name + "-XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr)
    throw Error(said("external.no_directory", parent.string(), std::strerror(errno)));
  path_ = path;
}

FreshDirectory::~FreshDirectory() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace cb
