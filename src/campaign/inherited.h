#pragma once

#include <string_view>

namespace cb {

// Whether a variable says which process of which job this one is, as launchers (Open MPI, PRRTE,
// MPICH, Intel MPI, Slurm, Flux) tell those they start. A campaign that itself runs in such a
// process, or in a shell of one, hands none of them on: its jobs are others. What a user sets for a
// launcher is not among them.
bool tells_of_process(std::string_view variable);

}  // namespace cb
