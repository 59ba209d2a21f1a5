#pragma once

namespace cb {

// Parses the command line, runs the subcommand and returns the process's exit code. Lets no
// exception out.
int run_app(int argc, char** argv);

}  // namespace cb
