// Files of profiles/ and templates/ in the binary itself, so that the binary works alone.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace cb {

struct EmbeddedFile {
  std::string_view path;     // relative to the source tree, e.g. "profiles/host.json"
  std::string_view content;  // exact bytes, valid while the program runs
};

// Returns all embedded files, sorted by path.
std::span<const EmbeddedFile> embedded_files();

// Returns the content of the embedded file with exactly this path, or nothing.
std::optional<std::string_view> embedded_file(std::string_view path);

}  // namespace cb
