#include "bench/collectives/nccl/device.h"
#include "core/error.h"

namespace cb::nccl {
namespace {

class HostDeviceBuffer final : public DeviceBuffer {
 public:
  explicit HostDeviceBuffer(uint64_t bytes) : buffer_(host_buffer(bytes)) {}
  void* base() override { return buffer_->data() - kGuardBytes; }
  std::byte* data() override { return buffer_->data(); }
  uint64_t bytes() const override { return buffer_->bytes(); }
  bool guards_intact() override { return buffer_->guards_intact(); }
  void set(Extent extent, uint8_t value) override { buffer_->set(extent, value); }
  void fill_pattern(Extent extent, uint64_t rank, uint64_t iteration,
                    uint64_t first_byte) override {
    buffer_->fill_pattern(extent, rank, iteration, first_byte);
  }
  void fill_terms(Extent extent, const Terms& terms, uint64_t rank) override {
    buffer_->fill_terms(extent, terms, rank);
  }
  std::optional<Mismatch> verify_pattern(Extent extent, uint64_t rank, uint64_t iteration,
                                         uint64_t first_byte, uint64_t bytes_per_element) override {
    return buffer_->verify_pattern(extent, rank, iteration, first_byte, bytes_per_element);
  }
  std::optional<Mismatch> verify_reduced(Extent extent, const Terms& terms,
                                         uint64_t first_index) override {
    return buffer_->verify_reduced(extent, terms, first_index);
  }
  void flip(int64_t at) override { buffer_->flip(at); }

 private:
  std::unique_ptr<CollectiveBuffer> buffer_;
};

class HostDevice final : public Device {
 public:
  std::string name() const override { return "host memory"; }
  std::string identity() const override { return ""; }
  std::string product() const override { return ""; }
  uint64_t memory_bytes() const override { return 0; }
  uint64_t free_bytes() override { return UINT64_MAX; }
  void select() override {}
  abi::Stream stream() override { return nullptr; }
  std::unique_ptr<DeviceBuffer> buffer(uint64_t bytes, const Library*) override {
    return std::make_unique<HostDeviceBuffer>(bytes);
  }
  void mark() override {}
  bool idle() override { return true; }
  void begin_graph() override { no_graph(); }
  void end_graph() override { no_graph(); }
  void launch_graph() override { no_graph(); }
  void drop_graph() override {}

 private:
  static void no_graph() { throw Error("there are no graphs in host memory: leave --graph out"); }
};

}  // namespace

Devices host_devices(int count) {
  Devices out;
  for (int i = 0; i < count; ++i) out.push_back(std::make_unique<HostDevice>());
  return out;
}

}  // namespace cb::nccl
