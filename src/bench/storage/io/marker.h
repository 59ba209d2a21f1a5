#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "bench/storage/io/directory.h"

namespace cb::io {

// The marker is a file that says that this program made the directory around it, and what it made
// in it: a line of identity and one line per file, each written before that file is made. It stays
// locked (flock) as long as the run lives, so that a killed run can be told from one at work.
class Marker {
 public:
  static constexpr const char* kName = ".clusterbench-io";

  // Makes, locks and fills the marker in the open directory `own`. Throws Error.
  static Fd create(int own, const std::string& directory_name, const std::string& host);
  // Notes that `name` will be made. Throws Error.
  static void note(int marker, const std::string& name);

  // What an open marker says; read() returns nothing if the marker is not complete.
  struct Content {
    std::string directory_name;
    uint64_t inode = 0;  // inode of the directory: a copy of the directory is not ours
    std::string host;
    std::set<std::string> files;
  };
  static std::optional<Content> read(int marker);
};

}  // namespace cb::io
