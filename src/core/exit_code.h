#pragma once

namespace cb {

// The exit code of the process. Documented in README.md, asserted by tests/cli.
enum class ExitCode : int {
  ok = 0,            // accepted, or measured without a failed check
  not_accepted = 1,  // a criterion fails, or measured data is wrong
  usage = 2,         // bad options, profile or input file
  incomplete = 3,    // something asked for could not be measured
  runtime = 4,       // a failure while running
  deadline = 124,    // a deadline passed
  interrupted = 130  // SIGINT or SIGTERM
};

}  // namespace cb
