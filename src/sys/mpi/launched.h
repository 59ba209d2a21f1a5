#pragma once

#include <string>
#include <vector>

#include "sys/mpi/find.h"

// What the launcher of this process says of it before MPI_Init.
namespace cb::mpi {

// A variable that is set, and the number in it; the name is empty if there is none.
struct Told {
  std::string variable = {};
  int number = 0;
};

struct Launched {
  bool joins = false;  // a launcher that MPI_Init can join started it
  Told rank = {};
  Told processes = {};  // how many there are; the largest of those that say so
};

// Only the nearest launcher's variables are asked where it is known: those of others further up,
// or left over in a shell, are not of this process.
Launched launched_by(const Surroundings& around);

// "mpirun", "srun" or "none", as records name it: an mpirun within an allocation of Slurm is one.
std::string launcher_name_of(const Surroundings& around);

// Whether a process that MPI finds alone is one of several, or may be: another rank than the first,
// or one that nothing tells how many there are.
bool left_alone(const Launched& told);

}  // namespace cb::mpi
