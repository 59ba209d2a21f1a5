#include "bench/verbs/memory.h"

#include <algorithm>
#include <filesystem>

#include "sys/rdma_buffer.h"

namespace cb::verbs {
namespace {

class HostTransferMemory : public TransferMemory {
 public:
  HostTransferMemory(size_t bytes, std::optional<int> numa_node, const Registration& with)
      : buffer_(bytes, numa_node),
        region_(register_memory(with.pd, buffer_.data(), buffer_.size(), with.relaxed_ordering,
                                with.device)) {}
  uintptr_t address() const override { return reinterpret_cast<uintptr_t>(buffer_.data()); }
  const ibv_mr& region() const override { return *region_; }
  std::byte* host() const override { return buffer_.data(); }
  std::string how() const override { return buffer_.how(); }

 private:
  DeviceBuffer buffer_;
  MrPtr region_;
};

std::filesystem::path bridges_to(const FsRoot& fs, const std::string& pci_address) {
  std::error_code none;
  return std::filesystem::canonical(fs.resolve("/sys/bus/pci/devices/" + pci_address), none);
}

// So many bridges (and the root) are above both.
long shared_bridges(const std::filesystem::path& a, const std::filesystem::path& b) {
  return std::distance(a.begin(), std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first);
}

}  // namespace

std::unique_ptr<TransferMemory> host_memory(size_t bytes, std::optional<int> numa_node,
                                            const Registration& with) {
  return std::make_unique<HostTransferMemory>(bytes, numa_node, with);
}

int nearest_gpu(const FsRoot& fs, const std::optional<std::string>& pci_address,
                const std::vector<std::string>& gpus) {
  if (!pci_address) return 0;
  const auto device = bridges_to(fs, *pci_address);
  int best = 0;
  long most = -1;
  for (size_t i = 0; i < gpus.size(); ++i) {
    const long shared = shared_bridges(device, bridges_to(fs, gpus[i]));
    if (shared <= most) continue;
    most = shared;
    best = static_cast<int>(i);
  }
  return best;
}

}  // namespace cb::verbs
