#include "core/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/path_end.h"
#include "core/standard_output.h"

namespace cb {
namespace {

const char* next_step(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "make room there, or name another directory";
    case EACCES:
    case EPERM:
    case EROFS:
      return "name a path that this user may write to";
    case EIO:
      return "look at the disk and the kernel log";
    default:
      return "look at this path";
  }
}

[[noreturn]] void fail(const std::filesystem::path& path, const char* doing, int error = errno) {
  throw Error(fmt::format("cannot {} {}: {}; next: {}", doing, path.string(), std::strerror(error),
                          next_step(error)));
}

void write_all(int fd, std::string_view content, const std::filesystem::path& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(path, "write");
    content.remove_prefix(static_cast<size_t>(n));
  }
}

// Calls locate() and adds the path to its message.
PathEnd place_of(const std::filesystem::path& path) {
  try {
    return locate(path);
  } catch (const Error& e) {
    const std::string why = e.what();
    const char* next = why.find("next: ") == std::string::npos ? "; next: look at this path" : "";
    throw Error(fmt::format("cannot write {}: {}{}", path.string(), why, next));
  }
}

struct stat status_at(const PathEnd& at) {
  struct stat out {};
  const int flags = at.kernels_link ? 0 : AT_SYMLINK_NOFOLLOW;
  if (::fstatat(at.directory.get(), at.name.c_str(), &out, flags) != 0) out.st_mode = 0;
  return out;
}

// Renaming a file over a device or a pipe would replace it, for root even /dev/null. What the
// kernel links to is open elsewhere.
bool is_written_in_place(const PathEnd& at) {
  const mode_t mode = status_at(at).st_mode;
  return at.kernels_link || (mode != 0 && !S_ISREG(mode) && !S_ISDIR(mode));
}

std::optional<std::string> why_not_in_place(const PathEnd& at) {
  if (S_ISBLK(status_at(at).st_mode)) return "is a block device, which holds no file of ours";
  if (::faccessat(at.directory.get(), at.name.c_str(), W_OK, AT_EACCESS) != 0)
    return std::strerror(errno);
  return std::nullopt;
}

void write_in_place(const PathEnd& at, std::string_view content,
                    const std::filesystem::path& path) {
  if (const auto why = why_not_in_place(at))
    throw Error(fmt::format("cannot write {}: {}", path.string(), *why));
  const int follow = at.kernels_link ? 0 : O_NOFOLLOW;
  Descriptor fd(::openat(at.directory.get(), at.name.c_str(),
                         O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC | follow));
  if (fd.get() < 0) fail(path, "write");
  write_all(fd.get(), content, path);
  if (fd.close() != 0) fail(path, "write");
}

std::string partial_of(const PathEnd& at) {
  return at.name + fmt::format(".{}.partial", ::getpid());
}

Descriptor create_partial(const PathEnd& at) {
  return Descriptor(::openat(at.directory.get(), partial_of(at).c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644));
}

void sync_directory(const PathEnd& at) {
  const Descriptor fd(::openat(at.directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() >= 0) ::fsync(fd.get());
}

void fill_and_rename(const PathEnd& at, const std::filesystem::path& path, Durable durable,
                     const std::function<void(int)>& fill) {
  Descriptor fd = create_partial(at);
  if (fd.get() < 0) fail(path, "write");
  const int directory = at.directory.get();
  const std::string partial = partial_of(at);
  try {
    fill(fd.get());
    if (durable == Durable::yes && ::fsync(fd.get()) != 0) fail(path, "write");
    if (fd.close() != 0) fail(path, "write");
    if (::renameat(directory, partial.c_str(), directory, at.name.c_str()) != 0)
      fail(path, "write");
  } catch (...) {
    ::unlinkat(directory, partial.c_str(), 0);
    throw;
  }
  if (durable == Durable::yes) sync_directory(at);
}

// True for the names of a shell's <(...) and a user's /dev/stdin; any other special file stands
// where a regular file is expected.
bool is_named_device(const std::filesystem::path& path) {
  const std::string name = path.string();
  return name.starts_with("/dev/") || name.starts_with("/proc/");
}

void wait_for_data(int fd) {
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags >= 0) ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK);
}

}  // namespace

std::string read_file(const std::filesystem::path& path, size_t at_most) {
  const auto refuse = [&](const Said& why) { throw UsageError(path.string(), "", why); };
  // O_NONBLOCK, because opening a pipe would wait until somebody writes to it.
  const Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (fd.get() < 0) refuse(said("file.unreadable", std::strerror(errno)));
  struct stat status {};
  if (::fstat(fd.get(), &status) == 0 && S_ISDIR(status.st_mode)) refuse(said("file.directory"));
  if (!S_ISREG(status.st_mode) && !is_named_device(path))
    refuse("is no regular file: a pipe, a device or a socket");
  wait_for_data(fd.get());
  constexpr size_t kPiece = size_t{1} << 16;
  // One byte more than its size: the read after the last byte finds the end.
  const bool sized = S_ISREG(status.st_mode) && status.st_size > 0;
  std::string content(sized ? std::min(static_cast<size_t>(status.st_size), at_most) + 1 : kPiece,
                      '\0');
  for (size_t used = 0;;) {
    const ssize_t n = ::read(fd.get(), content.data() + used, content.size() - used);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) refuse(said("file.unreadable", std::strerror(errno)));
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
  if (path == kStandardOutput) return write_all(document_output(), content, "standard output");
  const PathEnd at = place_of(path);
  if (is_written_in_place(at)) return write_in_place(at, content, path);
  fill_and_rename(at, path, durable, [&](int fd) { write_all(fd, content, path); });
}

void fill_file_atomically(const std::filesystem::path& path, const std::function<void(int)>& fill) {
  const PathEnd at = place_of(path);
  if (is_written_in_place(at)) fail(path, "replace", ENOTSUP);
  fill_and_rename(at, path, Durable::yes, fill);
}

void throw_not_written(const std::filesystem::path& path, int error) { fail(path, "write", error); }

bool is_replaced_by_writing(const std::filesystem::path& path) {
  return path != kStandardOutput && !is_written_in_place(place_of(path));
}

std::optional<std::string> why_not_writable(const std::filesystem::path& path) try {
  if (path == kStandardOutput) return std::nullopt;
  const PathEnd at = locate(path);
  if (S_ISDIR(status_at(at).st_mode)) return "is a directory";
  if (is_written_in_place(at)) return why_not_in_place(at);
  const Descriptor fd = create_partial(at);
  if (fd.get() < 0) return std::strerror(errno);
  ::unlinkat(at.directory.get(), partial_of(at).c_str(), 0);
  return std::nullopt;
} catch (const Error& e) {
  return e.what();
}

void append_line_durably(const std::filesystem::path& path, std::string_view line) {
  Descriptor fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (fd.get() < 0) fail(path, "append to");
  const off_t before = ::lseek(fd.get(), 0, SEEK_END);
  try {
    write_all(fd.get(), std::string(line) + "\n", path);
    if (::fsync(fd.get()) != 0) fail(path, "append to");
  } catch (...) {
    // Half a line would spoil the next one, so it is cut off.
    if (before >= 0 && ::ftruncate(fd.get(), before) != 0) ::fsync(fd.get());
    throw;
  }
  if (fd.close() != 0) fail(path, "append to");
}

}  // namespace cb
