#pragma once

#include <optional>

#include "campaign/copy_program.h"
#include "cli/run_cmd_setup.h"

namespace cb {

// Throws UsageError if --copy or --copy-to make no sense with the other options.
void check_copy_options(const RunOptions& options, Launcher launcher);

// The copies of this program that `run --copy` makes on the hosts. They are removed at the latest
// when this object goes.
class ProgramCopies {
 public:
  // Makes them if the options ask for them: setup.binary is their path then. Says on standard error
  // what happens. Throws Error if no host has one.
  ProgramCopies(RunSetup& setup, const RunOptions& options);
  ~ProgramCopies();
  ProgramCopies(const ProgramCopies&) = delete;
  ProgramCopies& operator=(const ProgramCopies&) = delete;

  // Removes them now, and names the hosts on which they stay.
  void remove();

 private:
  std::optional<CopySetup> setup_;
  CopyEnd copies_;
};

}  // namespace cb
