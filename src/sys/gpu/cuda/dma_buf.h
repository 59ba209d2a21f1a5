#pragma once

#include <cstddef>
#include <string>

namespace cb::cuda {

// A file descriptor through which other drivers reach device memory without a copy.
class DmaBuf {
 public:
  // Exports [data, data + bytes) of the selected device; both must be multiples of the host's page
  // size. Throws Error with the driver's reason (a closed driver, a driver before 515, no IOMMU
  // mapping).
  DmaBuf(void* data, size_t bytes);
  ~DmaBuf();
  DmaBuf(const DmaBuf&) = delete;
  DmaBuf& operator=(const DmaBuf&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_ = -1;
};

// Makes CUDA's copies to and from this memory wait until every other device sees them. Throws
// Error.
void make_copies_synchronous(void* data);

}  // namespace cb::cuda
