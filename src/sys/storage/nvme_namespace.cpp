#include "sys/storage/nvme_namespace.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <linux/nvme_ioctl.h>
#include <sys/ioctl.h>

#include "core/error.h"

namespace cb {
namespace {

constexpr uint8_t kIdentify = 0x06;
constexpr uint32_t kTimeoutMilliseconds = 5000;
using IdentifyData = std::array<std::byte, 4096>;

// Reads a little-endian number.
uint64_t number(const IdentifyData& data, size_t at, size_t bytes) {
  uint64_t out = 0;
  for (size_t i = bytes; i-- > 0;) out = out << 8 | std::to_integer<uint64_t>(data[at + i]);
  return out;
}

[[noreturn]] void fail(const char* call, int rc) {
  throw Error(fmt::format(
      "{}: {}; next: run as root, or read the block device instead", call,
      rc < 0 ? std::string(std::strerror(errno)) : fmt::format("NVMe status {:#x}", rc)));
}

}  // namespace

NvmeNamespace identify_nvme_namespace(int fd) {
  const int nsid = ::ioctl(fd, NVME_IOCTL_ID);
  if (nsid <= 0) fail("NVME_IOCTL_ID", nsid);
  IdentifyData data{};
  nvme_admin_cmd command{};
  command.opcode = kIdentify;
  command.nsid = static_cast<uint32_t>(nsid);
  command.addr = reinterpret_cast<uint64_t>(data.data());
  command.data_len = data.size();
  command.timeout_ms = kTimeoutMilliseconds;
  if (const int rc = ::ioctl(fd, NVME_IOCTL_ADMIN_CMD, &command); rc != 0)
    fail("identify namespace", rc);
  // NVM Command Set Specification 1.0, figure 97: NSZE; then, for the format in use (FLBAS), the
  // metadata bytes and the block size as a power of two.
  const size_t format = 128 + 4 * (number(data, 26, 1) & 0xf);
  if (number(data, format, 2) != 0)
    throw Error("the namespace has metadata in its blocks; next: read its block device instead");
  return {static_cast<uint32_t>(nsid), number(data, 0, 8), 1U << number(data, format + 2, 1)};
}

}  // namespace cb
