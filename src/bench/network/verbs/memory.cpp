#include "bench/network/verbs/memory.h"

#include "sys/net/rdma_buffer.h"

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

}  // namespace

std::unique_ptr<TransferMemory> host_memory(size_t bytes, std::optional<int> numa_node,
                                            const Registration& with) {
  return std::make_unique<HostTransferMemory>(bytes, numa_node, with);
}

}  // namespace cb::verbs
