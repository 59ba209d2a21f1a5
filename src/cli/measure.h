#pragma once

#include <string>

#include "bench/harness/case.h"
#include "core/exit_code.h"

namespace cb {

// Options that every measurement has; the durations are those of a user who was already told what
// is wrong with them.
struct MeasureOptions {
  std::string json;
  std::string token;  // of --return, which `run` gives
  std::string deadline = "1h";
  std::string stall = "2m";
  std::string sysroot = "/";
  bool quiet = false;
  bool no_color = false;
  bool redact = false;  // of environment and command line names only
};

// Runs one case, alone or as one rank of a launched job, writes the document and prints the table
// (rank 0).
ExitCode measure(const Case& c, const Params& params, const MeasureOptions& options);

}  // namespace cb
