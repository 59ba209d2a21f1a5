#pragma once

#include <string>
#include <vector>

#include "sys/mpi/find.h"

// What the launcher states about this process before MPI_Init.
namespace cb::mpi {

// A variable that is set, and its number. The name is empty if there is none.
struct Told {
  std::string variable = {};
  int number = 0;
};

struct Launched {
  bool joins = false;  // true if a launcher that MPI_Init can join started it
  Told rank = {};
  Told processes = {};  // number of processes: the largest number that a variable states
};

// If the nearest launcher is known, reads only its variables: those of launchers further up, or
// left over in a shell, are not about this process.
Launched launched_by(const Surroundings& around);

// Returns "mpirun", "srun" or "none", as in records. An mpirun within a Slurm allocation is
// "mpirun".
std::string launcher_name_of(const Surroundings& around);

// True if a process that is alone in MPI is, or may be, one of several: its rank is not the first,
// or nothing states the number of processes.
bool left_alone(const Launched& told);

}  // namespace cb::mpi
