// Lookup in the table that ci/cmake/embed.cmake generates.
#include "core/embedded.h"

#include <algorithm>

namespace cb {

std::optional<std::string_view> embedded_file(std::string_view path) {
  const auto files = embedded_files();
  const auto found = std::ranges::find(files, path, &EmbeddedFile::path);
  if (found == files.end()) return std::nullopt;
  return found->content;
}

}  // namespace cb
