#pragma once

#include <string>

namespace cb {

// True if an mpirun is MPICH's or Intel MPI's, which call their process manager Hydra. Follows
// symbolic links, and scripts to the launchers that they name; `path` is the PATH that they have.
// False if the file cannot be read.
bool is_hydra(const std::string& mpirun, const std::string& path);

}  // namespace cb
