#pragma once

#include <string>
#include <vector>

#include "bench/collectives/nccl/device.h"
#include "bench/harness/case.h"
#include "sys/cpu/affinity.h"
#include "sys/cpu/numa.h"

namespace cb::nccl {

// Compares where a process may run with where its devices hang.
struct NumaFit {
  std::vector<int> cpus;  // allowed CPUs near the devices, ascending; empty: nothing to bind to
  std::string text;       // "node 1, CPUs 32-63"; empty if no device tells its node
  std::string note;       // what to do if the launcher lets it run only on other nodes
};

// `allowed` is the part of the host that the process may use (read_machine()). Devices without a
// PCI address or with an unknown node are ignored.
NumaFit fit_to_devices(const std::vector<std::string>& pci_addresses, const FsRoot& fs,
                       const Machine& allowed);

// Binds the calling thread near its devices while the object lives. Threads that the library starts
// from it meanwhile inherit the binding. The launcher's binding is narrowed, never left.
class NearDevices {
 public:
  NearDevices(const Context& context, const Devices& devices);
  const NumaFit& fit() const { return fit_; }

 private:
  KeepAffinity keep_;
  NumaFit fit_;
};

}  // namespace cb::nccl
