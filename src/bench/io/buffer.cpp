#include "bench/io/buffer.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"

namespace cb::io {

uint64_t SlotBuffers::stride(uint64_t slot_bytes) {
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  return (slot_bytes + page - 1) / page * page;
}

SlotBuffers::SlotBuffers(size_t slots, uint64_t slot_bytes)
    : bytes_(slots * stride(slot_bytes)), stride_(stride(slot_bytes)) {
  void* got = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (got == MAP_FAILED)
    throw Error(
        fmt::format("no memory for {} buffers of {} bytes: {}; lower --queue-depth, "
                    "--threads or --block-size",
                    slots, slot_bytes, std::strerror(errno)));
  data_ = static_cast<std::byte*>(got);
}

SlotBuffers::~SlotBuffers() { ::munmap(data_, bytes_); }

}  // namespace cb::io
