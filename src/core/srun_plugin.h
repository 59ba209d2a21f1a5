#pragma once

#include <string>
#include <vector>

namespace cb {

// NAME of the last "--mpi=NAME" or "--mpi NAME" among words for srun: srun takes the last. Empty if
// they name no plugin.
std::string srun_plugin(const std::vector<std::string>& words);

// That of CLUSTERBENCH_SRUN_ARGS.
std::string srun_plugin_of_user();

// The words that name no plugin.
std::vector<std::string> without_srun_plugin(const std::vector<std::string>& words);

}  // namespace cb
