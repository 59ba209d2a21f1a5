#pragma once

#include <string>
#include <vector>

#include "bench/collectives/nccl/device.h"
#include "bench/harness/case.h"
#include "sys/cpu/affinity.h"
#include "sys/cpu/numa.h"

namespace cb::nccl {

// Where a process may run against where its devices hang.
struct NumaFit {
  std::vector<int> cpus;  // near the devices and allowed, ascending; empty: nothing to bind to
  std::string text;       // "node 1, CPUs 32-63"; empty where no device tells its node
  std::string note;       // what to do where the launcher lets it run on other nodes only
};

// `allowed` is the part of the host that the process may use (read_machine()). Devices without a
// PCI address, or whose node the kernel does not know, count for nothing.
NumaFit fit_to_devices(const std::vector<std::string>& pci_addresses, const FsRoot& fs,
                       const Machine& allowed);

// Binds the calling thread near its devices as long as the object lives. The library's threads,
// which are started from it meanwhile, inherit that. The launcher's binding is narrowed, never
// left.
class NearDevices {
 public:
  NearDevices(const Context& context, const Devices& devices);
  const NumaFit& fit() const { return fit_; }

 private:
  KeepAffinity keep_;
  NumaFit fit_;
};

}  // namespace cb::nccl
