#include "core/path_search.h"

#include <cstdlib>
#include <sstream>

#include <unistd.h>

namespace cb {

std::string file_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  return file_in_path(program, path == nullptr ? kPlainPath : path);
}

std::string file_in_path(const std::string& program, const std::string& path) {
  std::istringstream directories(path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string file = directory + "/" + program;
    if (::access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

}  // namespace cb
