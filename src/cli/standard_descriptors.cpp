#include "cli/standard_descriptors.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"

namespace cb {
namespace {

constexpr std::array<const char*, 3> kStandardNames{"standard input", "standard output",
                                                    "standard error"};

bool g_output_was_closed = false;

}  // namespace

bool standard_output_was_closed() { return g_output_was_closed; }

void open_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int flags = fd == STDIN_FILENO ? O_RDONLY : O_WRONLY;
    if (fd == STDOUT_FILENO) g_output_was_closed = true;
    // open() takes the lowest free number, which is this one.
    if (::open("/dev/null", flags) == fd) continue;
    throw Error(fmt::format(
        "{} is closed, and /dev/null cannot be opened in its place: {}; next: start it with all "
        "three open, or mount /dev in this container",
        kStandardNames.at(static_cast<size_t>(fd)), std::strerror(errno)));
  }
}

}  // namespace cb
