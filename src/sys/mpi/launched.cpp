#include "sys/mpi/launched.h"

#include <cstdlib>

namespace cb::mpi {
namespace {

struct Variables {
  std::vector<const char*> joining;  // if one of these is set, MPI_Init finds its job
  std::vector<const char*> ranks;    // the first one that is set counts
  std::vector<const char*> sizes;
};

// MVAPICH's mpirun_rsh gives a number and a port, at which the rank asks for the rest.
Variables of_mpich(const Surroundings& around) {
  if (around.variable("PMI_ID") && !around.variable("PMI_RANK"))
    return {
        {"PMI_ID"}, {"PMI_ID"}, {"MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_SIZE", "MPIRUN_NPROCS"}};
  return {{"PMI_RANK"}, {"PMI_RANK"}, {"PMI_SIZE"}};
}

Variables variables_of(LauncherKind kind, const Surroundings& around) {
  switch (kind) {
    case LauncherKind::open_mpi:
      return {{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK"},
              {"OMPI_COMM_WORLD_RANK", "PMIX_RANK"},
              {"OMPI_COMM_WORLD_SIZE"}};
    case LauncherKind::mpich:
      return of_mpich(around);
    case LauncherKind::slurm:
      return {{"PMIX_RANK", "PMI_RANK"},
              {"PMIX_RANK", "PMI_RANK", "SLURM_PROCID"},
              {"SLURM_STEP_NUM_TASKS", "PMI_SIZE"}};
    case LauncherKind::unknown:
      break;
  }
  return {{"OMPI_COMM_WORLD_SIZE", "PMIX_RANK", "PMI_RANK"},
          {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"},
          {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS", "FLUX_JOB_SIZE",
           "MPIRUN_NPROCS", "MV2_COMM_WORLD_SIZE", "MVP_COMM_WORLD_SIZE"}};
}

std::vector<Told> told(const Surroundings& around, const std::vector<const char*>& names) {
  std::vector<Told> out;
  for (const char* name : names) {
    if (const auto text = around.variable(name)) out.push_back({name, std::atoi(text->c_str())});
  }
  return out;
}

}  // namespace

Launched launched_by(const Surroundings& around) {
  Variables asked = variables_of(launcher_above(around).kind, around);
  if (told(around, asked.ranks).empty()) asked = variables_of(LauncherKind::unknown, around);
  Launched out;
  out.joins = !told(around, asked.joining).empty();
  if (const auto ranks = told(around, asked.ranks); !ranks.empty()) out.rank = ranks.front();
  for (const Told& size : told(around, asked.sizes)) {
    if (size.number > out.processes.number) out.processes = size;
  }
  return out;
}

std::string launcher_name_of(const Surroundings& around) {
  if (!launched_by(around).joins) return "none";
  switch (launcher_above(around).kind) {
    case LauncherKind::slurm:
      return "srun";
    case LauncherKind::open_mpi:
    case LauncherKind::mpich:
      return "mpirun";
    case LauncherKind::unknown:
      break;
  }
  const bool slurm = around.variable("SLURM_JOB_ID") && !around.variable("OMPI_COMM_WORLD_SIZE");
  return slurm ? "srun" : "mpirun";
}

bool left_alone(const Launched& told) {
  if (told.processes.number > 1) return true;
  return told.joins && (told.rank.number > 0 || told.processes.variable.empty());
}

}  // namespace cb::mpi
