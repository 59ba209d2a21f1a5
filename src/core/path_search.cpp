#include "core/path_search.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>

#include <unistd.h>

namespace cb {
namespace {

// To the kernel a directory that may be entered is executable too.
bool is_program(const std::string& file) {
  std::error_code absent;
  return std::filesystem::is_regular_file(file, absent) && ::access(file.c_str(), X_OK) == 0;
}

}  // namespace

std::string file_in_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  return file_in_path(program, path == nullptr ? kPlainPath : path);
}

std::string file_in_path(const std::string& program, const std::string& path) {
  std::istringstream directories(path);
  for (std::string directory; std::getline(directories, directory, ':');) {
    std::string file = directory + "/" + program;
    if (is_program(file)) return file;
  }
  return "";
}

}  // namespace cb
