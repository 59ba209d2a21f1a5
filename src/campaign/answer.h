#pragma once

#include <string>
#include <vector>

#include "campaign/executor.h"

namespace cb {

// The end of a task that is done only if it says so.
struct Answer {
  TaskEnd end;
  bool said = false;  // its output has the words
  // It exited with 0 and said the words. mpirun of Open MPI 5.0 exits with 0 for a host that died.
  bool is_done() const { return said && end.kind == TaskEnd::Kind::exited && end.code == 0; }
};

// Runs the tasks as run_tasks() does, and looks for `words` in what each writes. Their output
// stands in files of their own in `folder` meanwhile, and is then appended to their `out`. What a
// stop kept from starting has the kind `stopped`. Throws Error where words may be missing because
// `folder` is full.
std::vector<Answer> run_for_answers(std::vector<Task> tasks, const ExecutorOptions& options,
                                    const std::filesystem::path& folder, const std::string& words);

}  // namespace cb
