#include "core/env_names.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace cb {
namespace {

constexpr std::array<std::string_view, 29> kRefused{"PATH",
                                                    "HOME",
                                                    "SHELL",
                                                    "IFS",
                                                    "ENV",
                                                    "BASH_ENV",
                                                    "PYTHONPATH",
                                                    "PYTHONHOME",
                                                    "PERL5LIB",
                                                    "PERL5OPT",
                                                    "GCONV_PATH",
                                                    "LOCPATH",
                                                    "OPAL_PREFIX",
                                                    "PMIX_PREFIX",
                                                    "PRTE_PREFIX",
                                                    "MPI_HOME",
                                                    "I_MPI_ROOT",
                                                    "MPICH_DIR",
                                                    "UCX_MODULE_DIR",
                                                    "IBV_DRIVERS",
                                                    "RDMAV_DRIVERS",
                                                    "GLIBC_TUNABLES",
                                                    "MALLOC_TRACE",
                                                    "CLUSTERBENCH_TEST_CASES",
                                                    "SLURM_CONF",
                                                    "OMP_TOOL_LIBRARIES",
                                                    "HYDRA_LAUNCHER",
                                                    "HYDRA_LAUNCHER_EXEC",
                                                    "I_MPI_HYDRA_BOOTSTRAP_EXEC"};
// hwloc's variables can name a file that describes another machine.
constexpr std::array<std::string_view, 6> kRefusedPrefixes{
    "LD_", "DYLD_", "BASH_FUNC_", "CUDA_INJECTION", "OPENSSL_", "HWLOC_"};

bool is_name(const std::string& name) {
  return !name.empty() &&
         name.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"
             "wxyz0123456789_") == std::string::npos &&
         (name[0] < '0' || name[0] > '9');
}

// True for parameters of Open MPI, PMIx and PRRTE that name a program or a folder of plugins.
bool names_code(const std::string& name) {
  return name.find("_MCA_") != std::string::npos &&
         (name.ends_with("_agent") || name.ends_with("_path") || name.ends_with("_param_files") ||
          name.ends_with("_param_file"));
}

// True for variables that name a vendor's library for this program.
bool names_library(const std::string& name) {
  return name.starts_with("CLUSTERBENCH_") &&
         (name.ends_with("_LIBRARY") || name == "CLUSTERBENCH_CUDA_MODULE" ||
          name == "CLUSTERBENCH_OPENBLAS" || name == "CLUSTERBENCH_BLIS" ||
          name == "CLUSTERBENCH_ONEDNN" || name.ends_with("_ARGS"));
}

}  // namespace

std::optional<std::string> refused_variable(const std::string& name) {
  if (!is_name(name)) return "is no name of a variable: letters, digits and '_', no digit first";
  const bool prefixed = std::ranges::any_of(
      kRefusedPrefixes, [&](std::string_view prefix) { return name.starts_with(prefix); });
  if (prefixed || std::ranges::find(kRefused, name) != kRefused.end() || names_code(name) ||
      names_library(name))
    return "decides which program or library runs: set it in your own environment";
  return std::nullopt;
}

}  // namespace cb
