#include "core/inherited.h"

#include <algorithm>
#include <array>

namespace cb {
namespace {

// Users themselves set other names of OMPI_MCA_, PMIX_MCA_, PRTE_MCA_, HYDRA_ and SLURM_.
constexpr std::array<std::string_view, 53> kBeginnings{"OMPI_COMM_WORLD_",
                                                       "OMPI_APP_CTX_",
                                                       "OMPI_ARGV",
                                                       "OMPI_COMMAND",
                                                       "OMPI_FILE_LOCATION",
                                                       "OMPI_FIRST_RANKS",
                                                       "OMPI_NUM_APP_CTX",
                                                       "OMPI_UNIVERSE_SIZE",
                                                       "OMPI_WORLD_",
                                                       "OMPI_MCA_ess",
                                                       "OMPI_MCA_initial_wdir",
                                                       "OMPI_MCA_num_procs",
                                                       "OMPI_MCA_orte_app_num",
                                                       "OMPI_MCA_orte_bound_at_launch",
                                                       "OMPI_MCA_orte_ess_",
                                                       "OMPI_MCA_orte_hnp_uri",
                                                       "OMPI_MCA_orte_jobfam_session_dir",
                                                       "OMPI_MCA_orte_launch",
                                                       "OMPI_MCA_orte_local_daemon_uri",
                                                       "OMPI_MCA_orte_num_nodes",
                                                       "OMPI_MCA_orte_precondition_transports",
                                                       "OMPI_MCA_orte_top_session_dir",
                                                       "PMIX_NAMESPACE",
                                                       "PMIX_RANK",
                                                       "PMIX_ID",
                                                       "PMIX_SERVER_",
                                                       "PMIX_HOSTNAME",
                                                       "PMIX_VERSION",
                                                       "PMIX_BFROP_",
                                                       "PMIX_DSTORE_",
                                                       "PMIX_GDS_MODULE",
                                                       "PMIX_SECURITY_MODE",
                                                       "PMIX_PARAM_FILE_PASSED",
                                                       "PMIX_SYSTEM_TMPDIR",
                                                       "PRTE_LAUNCHED",
                                                       "PRTE_SHARED_FS",
                                                       "PMI_",
                                                       "MV2_COMM_WORLD_",
                                                       "MVP_COMM_WORLD_",
                                                       "MPIRUN_ID",
                                                       "MPIRUN_NPROCS",
                                                       "MPIRUN_RANK",
                                                       "MPISPAWN_",
                                                       "MPI_LOCALNRANKS",
                                                       "MPI_LOCALRANKID",
                                                       "HYDI_",
                                                       "HYDRA_BSTRAP_",
                                                       "I_MPI_HYDRA_UUID",
                                                       "SLURM_STEP",
                                                       "SLURM_PROCID",
                                                       "SLURM_LOCALID",
                                                       "FLUX_TASK_",
                                                       "FLUX_JOB_SIZE"};

}  // namespace

std::span<const std::string_view> process_variables() { return kBeginnings; }

bool tells_of_process(std::string_view variable) {
  return std::ranges::any_of(
      kBeginnings, [&](std::string_view beginning) { return variable.starts_with(beginning); });
}

}  // namespace cb
