#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/inventory.h"
#include "sys/os/fs_root.h"

namespace cb {

// How long it took to learn a name's address.
struct NameLookup {
  std::optional<double> seconds = {};  // nothing: no answer
  bool known = false;
  Said unasked = {};  // why it could not be asked for; empty: it was
};

// A library that GPU cases open.
struct OpenedLibrary {
  std::string name = {};   // with its version, or its file; empty: none can be used
  Said reason = {};        // why
  bool slow = false;       // it was not open within the time that is waited
  std::string named = {};  // what its variable names
};

// GPUs of which NVML says nothing, for one reason or another.
struct SilentGpus {
  size_t count = 0;
  std::string addresses = {};
  Said why = {};  // of the first
};

// What decides if this host or container can measure. An absent value could not be read.
struct DoctorFacts {
  std::string host;
  std::optional<double> shm_bytes = {};      // size of /dev/shm
  std::optional<double> memlock_bytes = {};  // infinity: unlimited
  size_t rdma_devices = 0;                   // known to the kernel
  bool rdma_files = false;                   // /dev/infiniband has files for them
  bool rdma_opens = false;                   // this user may open all of these files
  bool verbs_library = false;
  size_t gpus = 0;  // without those of virtual machines
  SilentGpus of_machines = {};
  SilentGpus lost = {};           // NVML lists them, and they do not answer
  SilentGpus may_be_lost = {};    // at least one of them is
  SilentGpus unlisted = {};       // NVML lacks them although their device files are here
  SilentGpus not_given = {};      // NVML lacks them, perhaps because a container or a job does
  SilentGpus not_driven = {};     // another driver than nvidia's has them, or that is to leave them
  Said gpus_unread = {};          // why the GPUs could not be read; empty: they could
  bool nvml_library = false;      // it opened, or a file of its name is there
  Said nvml_fault = {};           // why NVML says nothing of any GPU
  bool nvml_hangs = false;        // it does not come back
  bool nvml_opens = false;        // its library is there, and is an NVML
  std::string named_nvml = {};    // what CLUSTERBENCH_NVML_LIBRARY names
  std::string named_driver = {};  // what CLUSTERBENCH_CUDA_LIBRARY names
  bool cuda_library = false;      // it opened
  bool driver_hangs = false;      // its library does not answer
  Said driver_unfit = {};     // why its library does not say the driver's version; empty: it does
  std::string driver = {};    // the newest CUDA that it knows; empty: not known
  bool modules_hang = false;  // the files of this program's CUDA modules do not open
  bool no_module = false;     // none of them runs on this driver
  std::string named_module = {};  // what CLUSTERBENCH_CUDA_MODULE names
  Said unusable_modules = {};     // why files of them cannot be used; empty: all can
  OpenedLibrary nccl = {};
  OpenedLibrary cublaslt = {};
  int cpus_online = 0;
  int cpus_allowed = 0;
  std::optional<double> cpu_quota = {};  // of the cgroup, in processors; nothing: no limit
  std::optional<double> memory_bytes = {};
  std::optional<double> memory_limit_bytes = {};  // of the cgroup; nothing: no limit
  // Of a process, by `ulimit -v` and `ulimit -d`; nothing: no limit.
  std::optional<double> process_memory_bytes = {};
  std::optional<bool> clock_synchronised = {};
  std::string mpirun = {};       // the file in the PATH; empty: none
  std::string mpi_library = {};  // its name and version; empty: none opens
  Said mpi_unopened = {};        // why none opens
  std::string named_mpi = {};    // what CLUSTERBENCH_MPI_LIBRARY names
  bool srun = false;
  std::optional<std::vector<std::string>> srun_plugins = {};  // nothing: srun did not say
  Said srun_unasked = {};           // why it could not be asked; empty: it was, or there is none
  std::string srun_plugin = {};     // CLUSTERBENCH_SRUN_ARGS names it; empty: it names none
  std::string srun_arguments = {};  // CLUSTERBENCH_SRUN_ARGS
  NameLookup own_name = {};
  NameLookup localhost = {};  // hwloc asks for it where a plugin of it looks for a display
};

// Limits of this process's cgroup and of those above it, of both versions.
struct CgroupLimits {
  std::optional<double> cpus = {};
  std::optional<double> memory_bytes = {};
};
CgroupLimits cgroup_limits(const FsRoot& fs);

// The plugins that `srun --mpi=list` lists: a line each, words of one line, or with commas.
std::vector<std::string> srun_plugins_of(const std::string& listed);

// Asks this machine. Every wait has a deadline of a few seconds.
DoctorFacts doctor_facts(const FsRoot& fs, const HostInventory& inventory);

}  // namespace cb
