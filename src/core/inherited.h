#pragma once

#include <span>
#include <string_view>

namespace cb {

// True if a variable says which process of which job this one is. Launchers (Open MPI, PRRTE,
// MPICH, Intel MPI, Slurm, Flux) set such variables for the processes they start. A campaign that
// itself runs in such a process, or in a shell of one, hands none of them on, since its jobs are
// others. Variables that a user sets for a launcher are not among them.
bool tells_of_process(std::string_view variable);

// The beginnings of the names of such variables.
std::span<const std::string_view> process_variables();

}  // namespace cb
