#pragma once

#include <optional>
#include <string>
#include <vector>

#include "campaign/launcher.h"
#include "core/messages/said.h"

namespace cb {

// How a job that a launcher has started ended.
struct LaunchedEnd {
  std::string out = {};  // what its ranks and the launcher wrote to standard output, up to 8 MiB
  std::optional<int> code = {};  // exit code; none if it was ended by a signal or not in time
  Said how = {};  // with what it said first on standard error; empty if it ended with 0
  bool ok() const { return code == 0; }
};

// Starts the commands as a campaign starts its jobs, up to 32 at once, and waits for the end of
// all. At its deadline, and if it writes more than 8 MiB, a launcher gets SIGTERM, with which it
// ends what it has started on other hosts; three seconds later what is left of its process group is
// killed. So do all of them if this process gets SIGINT, SIGTERM or SIGHUP, by which it is then
// ended. Call it from the main thread (process.h). Throws nothing: what cannot be started has a
// reason in `how`.
std::vector<LaunchedEnd> run_launched(const std::vector<Command>& commands,
                                      double deadline_seconds);

}  // namespace cb
