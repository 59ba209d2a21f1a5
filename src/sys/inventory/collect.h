#pragma once

#include <vector>

#include "core/inventory.h"
#include "sys/os/fs_root.h"

// One collector per kind of part. Each returns what it finds below `fs`, in ascending order of ids.
// What cannot be read is absent. Calls other than file reads are made only if fs.is_machine().
namespace cb::inventory {

std::vector<Part> system_parts(const FsRoot& fs);    // system
std::vector<Part> cpu_parts(const FsRoot& fs);       // cpu
std::vector<Part> cache_parts(const FsRoot& fs);     // cache, one per level and type ("L1d")
std::vector<Part> memory_parts(const FsRoot& fs);    // memory
std::vector<Part> hugepage_parts(const FsRoot& fs);  // hugepages, one per page size ("2M")
std::vector<Part> numa_parts(const FsRoot& fs);      // numa, one per node
std::vector<Part> iommu_parts(const FsRoot& fs);     // iommu
std::vector<Part> acs_parts(const FsRoot& fs);       // acs
std::vector<Part> gpu_parts(const FsRoot& fs);       // gpu, nvswitch per PCI device; nvlink_domain
std::vector<Part> nic_parts(const FsRoot& fs);       // nic, one per network interface except lo
std::vector<Part> rdma_parts(const FsRoot& fs);      // rdma, one per port
std::vector<Part> nvme_parts(const FsRoot& fs);      // nvme, one per controller
std::vector<Part> disk_parts(const FsRoot& fs);      // disk, one per block device with media
std::vector<Part> mount_parts(const FsRoot& fs);     // mount, one per real file system
std::vector<Part> limit_parts(const FsRoot& fs);     // limits, those of this process
std::vector<Part> clock_parts(const FsRoot& fs);     // clock
std::vector<Part> driver_parts(const FsRoot& fs);    // driver, one per kernel module that matters
std::vector<Part> library_parts(const FsRoot& fs);   // library, one per library that matters
// cuda: which module this driver gets, and why; none where no module is needed.
std::vector<Part> cuda_parts(const FsRoot& fs);

// The NVLink domains that the GPUs' attributes name, with their number of these GPUs and the state
// of IMEX on this host.
std::vector<Part> nvlink_domain_parts(const FsRoot& fs, const std::vector<Part>& gpus);

// Adds modules and empty slots to the part "memory". Only root may read them.
void add_modules(Part& part, const FsRoot& fs);

// Adds NVML's facts to the parts of kind gpu, matched by PCI address, and appends GPUs that only
// NVML knows. If NVML is absent or hangs, each part says so; if it hangs and there is no part,
// throws Error.
void add_nvml_facts(const FsRoot& fs, std::vector<Part>& gpus);
// Adds what NVML told of its GPUs. The id is the address, or "nvml 3" for one that NVML has lost,
// which is not a second GPU. One of which it tells nothing says why.
void add_told_by_nvml(const FsRoot& fs, std::vector<Part>& gpus, const std::vector<Part>& told);

}  // namespace cb::inventory
