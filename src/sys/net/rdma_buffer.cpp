#include "sys/net/rdma_buffer.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/error.h"

namespace cb {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;

size_t rounded(size_t bytes, size_t page) { return (bytes + page - 1) / page * page; }

void* map(size_t bytes, int flags) {
  void* got =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return got == MAP_FAILED ? nullptr : got;
}

// Prefers the node but does not insist: a full node must not end the measurement.
bool bind_to_node(void* data, size_t bytes, int node) {
  if (node < 0 || node >= 64) return false;
  const unsigned long mask = 1UL << static_cast<unsigned>(node);
  return ::syscall(SYS_mbind, data, bytes, MPOL_PREFERRED, &mask, sizeof(mask) * 8, 0) == 0;
}

}  // namespace

DeviceBuffer::DeviceBuffer(size_t bytes, std::optional<int> numa_node) {
  // A small buffer would waste half a huge page, and huge pages are few.
  if (bytes >= kHugePage) {
    bytes_ = rounded(bytes, kHugePage);
    data_ = static_cast<std::byte*>(map(bytes_, MAP_HUGETLB));
    huge_ = data_ != nullptr;
  }
  if (data_ == nullptr) {
    bytes_ = rounded(bytes, static_cast<size_t>(::sysconf(_SC_PAGESIZE)));
    data_ = static_cast<std::byte*>(map(bytes_, 0));
  }
  if (data_ == nullptr)
    throw Error(
        fmt::format("no memory for a buffer of {} bytes: {}; lower --size, --qps or "
                    "--tx-depth of verbs, --prompt of kv-transfer",
                    bytes, std::strerror(errno)));
  if (numa_node && bind_to_node(data_, bytes_, *numa_node)) node_ = numa_node;
  std::memset(data_, 0, bytes_);  // allocates every page, on its node, before it is used
}

DeviceBuffer::~DeviceBuffer() { ::munmap(data_, bytes_); }

std::string DeviceBuffer::how() const {
  return fmt::format("{}{}", huge_ ? "huge pages" : "ordinary pages",
                     node_ ? fmt::format(", NUMA node {}", *node_) : "");
}

}  // namespace cb
