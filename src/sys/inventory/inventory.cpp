#include "sys/inventory/inventory.h"

#include <iterator>

#include <unistd.h>

#include "core/error.h"
#include "sys/inventory/collect.h"

namespace cb {
namespace {

struct Collector {
  const char* kind;
  std::vector<Part> (*collect)(const FsRoot&);
};

// The order is that in which a reader wants them.
constexpr Collector kCollectors[] = {
    {"system", inventory::system_parts},
    {"cpu", inventory::cpu_parts},
    {"cache", inventory::cache_parts},
    {"memory", inventory::memory_parts},
    {"hugepages", inventory::hugepage_parts},
    {"numa", inventory::numa_parts},
    {"gpu", inventory::gpu_parts},
    {"nic", inventory::nic_parts},
    {"rdma", inventory::rdma_parts},
    {"nvme", inventory::nvme_parts},
    {"disk", inventory::disk_parts},
    {"mount", inventory::mount_parts},
    {"iommu", inventory::iommu_parts},
    {"acs", inventory::acs_parts},
    {"limits", inventory::limit_parts},
    {"clock", inventory::clock_parts},
    {"driver", inventory::driver_parts},
    {"library", inventory::library_parts},
    {"cuda", inventory::cuda_parts},
};

// A collector that fails must not cost the host its other parts.
std::vector<Part> collected(const Collector& collector, const FsRoot& fs, Part& failures) {
  try {
    return collector.collect(fs);
  } catch (const std::exception& e) {
    failures.unavailable[collector.kind] = said_by(e);
    return {};
  }
}

}  // namespace

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != '\0' ? name : "localhost";
}

HostInventory collect_inventory(const FsRoot& fs, const std::string& host) {
  HostInventory out{.host = host};
  Part failures{.kind = "inventory", .id = "0"};
  for (const Collector& collector : kCollectors) {
    std::vector<Part> parts = collected(collector, fs, failures);
    std::move(parts.begin(), parts.end(), std::back_inserter(out.parts));
  }
  if (!failures.unavailable.empty()) out.parts.push_back(std::move(failures));
  return out;
}

}  // namespace cb
