#include "core/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

namespace cb {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return fd_; }
  // Closing can report a delayed write error (NFS, quota), so writers close by hand.
  int close() {
    const int result = ::close(fd_);
    fd_ = -1;
    return result;
  }

 private:
  int fd_;
};

[[noreturn]] void fail(const std::filesystem::path& path, const char* doing) {
  throw Error(fmt::format("cannot {} {}: {}", doing, path.string(), std::strerror(errno)));
}

void write_all(int fd, std::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "write");
    content.remove_prefix(static_cast<size_t>(n));
  }
}

// The file that a chain of links ends at, which need not exist.
std::filesystem::path followed(const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::is_symlink(path, error)) return path;
  const auto target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target;
}

// Renaming a file over a device or a pipe would replace it, for root even /dev/null.
bool is_special(const std::filesystem::path& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

void write_in_place(const std::filesystem::path& path, std::string_view content) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (fd.get() < 0) fail(path, "write");
  write_all(fd.get(), content, path);
  if (fd.close() != 0) fail(path, "write");
}

std::filesystem::path partial_of(const std::filesystem::path& path) {
  return path.string() + fmt::format(".{}.partial", ::getpid());
}

void sync_directory(const std::filesystem::path& directory) {
  const Descriptor fd(
      ::open(directory.empty() ? "." : directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

}  // namespace

std::string read_file(const std::filesystem::path& path, size_t at_most) {
  const auto refuse = [&](const std::string& why) { throw UsageError(path.string(), "", why); };
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode))
    refuse("is a directory, a file was expected");
  constexpr size_t kPiece = size_t{1} << 16;
  // One byte more than it says that it has: the read after the last one finds the end.
  const bool sized = S_ISREG(status.st_mode) && status.st_size > 0;
  std::string content(sized ? std::min(static_cast<size_t>(status.st_size), at_most) + 1 : kPiece,
                      '\0');
  for (size_t used = 0;;) {
    const ssize_t n = ::read(fd.get(), content.data() + used, content.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
    used += static_cast<size_t>(n);
    if (used > at_most)
      refuse(fmt::format("is larger than {} bytes, which no file of ours is", at_most));
    if (n == 0) {
      content.resize(used);
      return content;
    }
    if (used == content.size()) content.resize(used + kPiece);
  }
}

void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           Durable durable) {
  const std::filesystem::path target = followed(path);
  if (is_special(target)) return write_in_place(target, content);
  const std::filesystem::path partial = partial_of(target);
  Descriptor fd(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd.get() < 0) fail(path, "write");
  try {
    write_all(fd.get(), content, path);
    if (durable == Durable::yes && ::fsync(fd.get()) != 0) fail(path, "write");
    if (fd.close() != 0) fail(path, "write");
    if (::rename(partial.c_str(), target.c_str()) != 0) fail(path, "write");
  } catch (...) {
    ::unlink(partial.c_str());
    throw;
  }
  if (durable == Durable::yes) sync_directory(target.parent_path());
}

std::optional<std::string> why_not_writable(const std::filesystem::path& path) {
  const std::filesystem::path target = followed(path);
  std::error_code error;
  if (std::filesystem::is_directory(target, error)) return "is a directory";
  if (is_special(target)) {
    if (::access(target.c_str(), W_OK) == 0) return std::nullopt;
    return std::strerror(errno);
  }
  const std::filesystem::path partial = partial_of(target);
  const Descriptor fd(::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (fd.get() < 0) return std::strerror(errno);
  ::unlink(partial.c_str());
  return std::nullopt;
}

void append_line_durably(const std::filesystem::path& path, std::string_view line) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  if (fd.get() < 0) fail(path, "append to");
  const off_t before = ::lseek(fd.get(), 0, SEEK_END);
  try {
    write_all(fd.get(), std::string(line) + "\n", path);
    if (::fsync(fd.get()) != 0) fail(path, "append to");
  } catch (...) {
    // Half a line would spoil the next one.
    if (before >= 0 && ::ftruncate(fd.get(), before) != 0) ::fsync(fd.get());
    throw;
  }
  if (fd.close() != 0) fail(path, "append to");
}

}  // namespace cb
