#pragma once

#include <string>
#include <vector>

#include "campaign/launcher.h"
#include "core/messages/said.h"

namespace cb {

// How a job that a launcher has started ended.
struct LaunchedEnd {
  std::string out;  // what its ranks and the launcher wrote to standard output, up to 8 MiB
  bool ok = false;  // true if its exit code was 0 before the deadline
  Said how;         // with what it said first on standard error; empty if it is ok
};

// The JSON document that one rank printed, among what a script or the launcher said before and
// after it, and without the mark that a launcher puts before each line if it is told to (-l of
// Hydra and srun, --tag-output of Open MPI, which spoils what is longer than 4 KiB). Empty if there
// is none.
std::string document_in(const std::string& out);

// Starts the commands as a campaign starts its jobs, up to 32 at once, and waits for the end of
// all. At its deadline, if it writes more than 8 MiB, and at the end of this process, a launcher
// gets SIGTERM, with which it ends what it has started on other hosts, and is killed after three
// seconds more. Call it from the main thread (process.h). Throws nothing: what cannot be started
// has a reason in `how`.
std::vector<LaunchedEnd> run_launched(const std::vector<Command>& commands,
                                      double deadline_seconds);

}  // namespace cb
