#pragma once

#include <string>
#include <vector>

#include "bench/harness/case.h"

namespace cb::io {

struct Cleaned {
  std::vector<std::string> removed;                // names of directories
  std::vector<std::pair<std::string, Said>> kept;  // what looks like ours but stays, and why
};

// Removes what killed runs of this host and user left in `parent`: directories that carry our
// marker, that nobody has locked, and that hold nothing but what the marker names. A directory with
// anything else in it stays as a whole. Throws Error if `parent` cannot be read.
Cleaned clean_leftovers(const std::string& parent, const std::string& host);

// `io --clean DIR`: cleans once on each host. The record's notes say what was removed and kept.
std::vector<Record> run_clean(Context& context, const Params& params);

}  // namespace cb::io
