// One run of the site's program: its input, its start, its output as results.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/external/program_input.h"
#include "bench/harness/case.h"
#include "import/program_output.h"

namespace cb {

// What one run is to solve, the same on every rank.
struct ExternalPlan {
  HplProblem problem = {};
  int64_t processes = 1;  // in all
  bool hpcg = false;
};

struct ExternalRun {
  ProgramOutput output;
  std::string sha256;  // of the output
};

// The program's file: as given, or where the PATH has it. Empty if nowhere.
std::filesystem::path file_of_program(const std::string& program);

// Runs the command in a fresh directory with the input of the plan; {dir} in the command is that
// directory. Throws Error if the program
// does not start, ends badly, floods its output or leaves no result; Interrupted if cancelled.
ExternalRun run_once(const Context& context, const Params& params, const ExternalPlan& plan,
                     const std::vector<std::string>& command);

}  // namespace cb
