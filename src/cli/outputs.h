#pragma once

#include <string>
#include <vector>

#include "cli/commands.h"
#include "judge/signoff_data.h"
#include "judge/verdict.h"

namespace cb {

// The files for other programs that report and gate both write. One option names each.
struct Outputs {
  std::string csv, junit, prometheus, json;

  std::vector<std::string> files() const { return {csv, junit, prometheus, json}; }
  // These files and `more`.
  std::vector<std::string> and_files(std::vector<std::string> more) const {
    for (const std::string& file : files()) more.push_back(file);
    return more;
  }
  bool none() const { return csv.empty() && junit.empty() && prometheus.empty() && json.empty(); }
};

void add_output_options(CLI::App& sub, Outputs& outputs);

// Renders all texts before it writes the first file. Writes every file as a whole or not at all
// (beside the target, then renames). Returns the names of the files, without standard output.
std::vector<std::string> write_outputs(const Outputs& outputs, const Campaign& campaign,
                                       const Judgement& judgement,
                                       const SignoffCheck& signatures = {});

}  // namespace cb
