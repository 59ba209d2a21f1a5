#pragma once

#include <optional>
#include <string>

#include "core/error.h"
#include "core/inventory.h"
#include "sys/os/fs_root.h"

namespace cb {

// How long it took to learn a name's address.
struct NameLookup {
  std::optional<double> seconds = {};  // nothing: no answer
  bool known = false;
};

// A library that GPU cases open.
struct OpenedLibrary {
  std::string name = {};  // with its version, or its file; empty: none can be used
  Said reason = {};       // why
  bool slow = false;      // it was not open within the time that is waited
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
  size_t gpus = 0;
  bool nvml_library = false;
  bool cuda_library = false;
  bool driver_hangs = false;  // its library does not answer
  Said driver_unfit = {};     // why its library does not say the driver's version; empty: it does
  std::string driver = {};    // the newest CUDA that it knows; empty: not known
  bool modules_hang = false;  // the files of this program's CUDA modules do not open
  bool no_module = false;     // none of them runs on this driver
  OpenedLibrary nccl = {};
  OpenedLibrary cublaslt = {};
  int cpus_online = 0;
  int cpus_allowed = 0;
  std::optional<double> cpu_quota = {};  // of the cgroup, in processors; nothing: no limit
  std::optional<double> memory_bytes = {};
  std::optional<double> memory_limit_bytes = {};  // of the cgroup; nothing: no limit
  std::optional<bool> clock_synchronised = {};
  std::string mpirun = {};       // the file in the PATH; empty: none
  std::string mpi_library = {};  // its name and version; empty: none opens
  bool srun = false;
  std::optional<bool> srun_pmix = {};  // nothing: srun did not say
  std::string srun_plugin = {};        // CLUSTERBENCH_SRUN_ARGS names it; empty: it names none
  bool srun_has_plugin = false;        // srun lists that one
  NameLookup own_name = {};
  NameLookup localhost = {};  // hwloc asks for it where a plugin of it looks for a display
};

// Limits of this process's cgroup and of those above it, of both versions.
struct CgroupLimits {
  std::optional<double> cpus = {};
  std::optional<double> memory_bytes = {};
};
CgroupLimits cgroup_limits(const FsRoot& fs);

// Asks this machine. Every wait has a deadline of a few seconds.
DoctorFacts doctor_facts(const FsRoot& fs, const HostInventory& inventory);

}  // namespace cb
