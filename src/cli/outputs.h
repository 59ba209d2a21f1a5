#pragma once

#include <string>
#include <vector>

#include "analysis/verdict.h"
#include "cli/commands.h"

namespace cb {

// The files for other programs that report and gate both write, each named by its option.
struct Outputs {
  std::string csv, junit, prometheus, json;

  std::vector<std::string> files() const { return {csv, junit, prometheus, json}; }
  bool none() const { return csv.empty() && junit.empty() && prometheus.empty() && json.empty(); }
};

void add_output_options(CLI::App& sub, Outputs& outputs);

// Makes all texts before the first file is written; every file as a whole or not at all (beside the
// target and renamed). Returns the names of the files.
std::vector<std::string> write_outputs(const Outputs& outputs, const Campaign& campaign,
                                       const Judgement& judgement);

}  // namespace cb
