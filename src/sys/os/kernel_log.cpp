#include "sys/os/kernel_log.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

namespace cb {

std::optional<std::string> read_kernel_log(std::string& why, const FsRoot& fs) {
  const int fd = ::open(fs.resolve("/dev/kmsg").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) {
    why = fmt::format("/dev/kmsg: {}", std::strerror(errno));
    return std::nullopt;
  }
  std::string out;
  char line[8192];
  constexpr size_t kMax = 64 << 20;  // bytes; much larger than any ring buffer
  while (out.size() < kMax) {
    const ssize_t n = ::read(fd, line, sizeof line);
    if (n > 0) out.append(line, static_cast<size_t>(n));
    if (n == 0 || (n < 0 && errno == EAGAIN)) break;
    // EPIPE: the kernel has overwritten lines; the next read continues behind them.
    if (n < 0 && errno != EPIPE && errno != EINTR) {
      why = fmt::format("/dev/kmsg: {}", std::strerror(errno));
      ::close(fd);
      return std::nullopt;
    }
  }
  ::close(fd);
  return out;
}

}  // namespace cb
