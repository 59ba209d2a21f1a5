#pragma once

#include <string>
#include <vector>

#include "bench/harness/case.h"

namespace cb::io {

struct Cleaned {
  std::vector<std::string> removed;                // names of directories
  std::vector<std::pair<std::string, Said>> kept;  // what looks like ours and stays, and why
};

// Removes what killed runs of this host and user left in `parent`: directories that carry our
// marker, are locked by nobody, and hold nothing but what the marker names. A directory with
// anything else in it stays as a whole. Throws Error if `parent` cannot be read.
Cleaned clean_leftovers(const std::string& parent, const std::string& host);

// `io --clean DIR`: once on each host; what was removed and kept as the record's notes.
std::vector<Record> run_clean(Context& context, const Params& params);

}  // namespace cb::io
