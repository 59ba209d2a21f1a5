#include "core/env_names.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("variables that choose programs or libraries are refused, others are not") {
  for (const char* name : {"LD_PRELOAD",
                           "LD_LIBRARY_PATH",
                           "PATH",
                           "BASH_ENV",
                           "PYTHONPATH",
                           "OMPI_MCA_plm_rsh_agent",
                           "PMIX_MCA_mca_base_component_path",
                           "CLUSTERBENCH_NCCL_LIBRARY",
                           "CLUSTERBENCH_MPI_LIBRARY",
                           "I_MPI_ROOT",
                           "OMP_TOOL_LIBRARIES",
                           "HYDRA_LAUNCHER_EXEC",
                           "SLURM_CONF",
                           "OMPI_MCA_mca_base_override_param_file",
                           "CLUSTERBENCH_MPIRUN_ARGS",
                           "CUDA_INJECTION64_PATH",
                           "",
                           "A=B",
                           "-x",
                           "1A",
                           "A B",
                           "A\n"})
    CHECK_MESSAGE(refused_variable(name), name);
  for (const char* name : {"NCCL_ALGO", "OMP_NUM_THREADS", "UCX_TLS", "OMPI_MCA_btl", "A", "_a1",
                           "CLUSTERBENCH_TEST", "CLUSTERBENCH_INTERFACE"})
    CHECK_MESSAGE(!refused_variable(name), name);
}
