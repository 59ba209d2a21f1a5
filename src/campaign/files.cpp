#include "campaign/files.h"

#include <algorithm>

namespace cb {

namespace fs = std::filesystem;

std::vector<std::string> campaign_files(const fs::path& directory) {
  std::vector<std::string> out;
  for (auto entry = fs::recursive_directory_iterator(directory);
       entry != fs::recursive_directory_iterator(); ++entry) {
    const fs::path relative = entry->path().lexically_relative(directory);
    if (entry->is_directory() && relative == "scratch") {
      entry.disable_recursion_pending();
    } else if (entry->is_regular_file() && !entry->is_symlink() &&
               relative.extension() != ".partial") {
      out.push_back(relative.generic_string());
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool is_inside(const std::string& file) {
  const fs::path path(file);
  return !file.empty() && path.is_relative() &&
         std::none_of(path.begin(), path.end(), [](const fs::path& part) { return part == ".."; });
}

}  // namespace cb
