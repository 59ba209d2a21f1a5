#pragma once

namespace cb {

// Parses the command line, runs the subcommand and returns the process's exit code. Catches
// everything.
int run_app(int argc, char** argv);

}  // namespace cb
