#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

// NVLink domains: GPUs that reach one another over NVLink, also of several hosts (NVL72). A domain
// is named by what NVML gives of it, "<cluster's UUID>.<clique's number>": NVIDIA's fabric manager
// gives one clique to the GPUs of a cluster that reach each other. Pure.
namespace cb {

// Where a GPU is.
struct DomainSeat {
  int host = 0;
  std::string domain = {};  // empty if it is not known, or the GPU is in none
};

struct DomainCount {
  std::string domain;
  uint64_t gpus = 0, hosts = 0;
  std::optional<int> only_host = {};  // where all its GPUs are, if that is one host
  bool operator==(const DomainCount&) const = default;
};

// The known domains in the order of their names.
std::vector<DomainCount> count_domains(const std::vector<DomainSeat>& seats);

// All domains alike.
struct DomainShape {
  uint64_t domains = 1, hosts_each = 1, gpus_each = 1;
  bool operator==(const DomainShape&) const = default;
};

// Nothing if a GPU's domain is not known, if no domain reaches over several hosts, or if the
// domains have different numbers of GPUs or hosts.
std::optional<DomainShape> domain_shape(const std::vector<DomainSeat>& seats);

}  // namespace cb
