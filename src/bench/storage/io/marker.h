#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "bench/storage/io/directory.h"

namespace cb::io {

// Says of a directory that this program made it, and what in it: a file with a line of identity and
// one line for every file, each written before that file is made. Held locked (flock) as long as
// the run lives, so a run that was killed can be told from one that works.
class Marker {
 public:
  static constexpr const char* kName = ".clusterbench-io";

  // Makes, locks and fills the marker in the open directory `own`. Throws Error.
  static Fd create(int own, const std::string& directory_name, const std::string& host);
  // Notes that `name` will be made. Throws Error.
  static void note(int marker, const std::string& name);

  // What an open marker says; nothing if it is not whole.
  struct Content {
    std::string directory_name;
    uint64_t inode = 0;  // of the directory: a copy of it is not ours
    std::string host;
    std::set<std::string> files;
  };
  static std::optional<Content> read(int marker);
};

}  // namespace cb::io
