#include "bench/storage/io/marker.h"

#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"

namespace cb::io {
namespace {

constexpr const char* kFormat = "clusterbench-io/1";
constexpr size_t kMaxMarker = size_t{64} << 20;  // room for a million names

// Writes a whole line with one call, so that a kill leaves only whole lines.
void append(int fd, const std::string& line) {
  const ssize_t n = ::write(fd, line.data(), line.size());
  if (n != static_cast<ssize_t>(line.size()))
    throw Error(fmt::format("cannot write the marker {}: {}; next: free space on the filesystem",
                            Marker::kName, n < 0 ? std::strerror(errno) : "No space left"));
}

// A concurrent --clean may hold the lock while it looks, so this tries again. On a filesystem
// without locks, the process number in the directory's name must do.
void lock(int fd) {
  for (int i = 0; i < 100; ++i) {
    if (::flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  throw Error(
      fmt::format("the marker {} is locked by another process; next: start again", Marker::kName));
}

std::string whole_text(int fd) {
  std::string out;
  char buffer[65536];
  for (off_t at = 0; out.size() < kMaxMarker;) {
    const ssize_t n = ::pread(fd, buffer, sizeof buffer, at);
    if (n <= 0) break;
    out.append(buffer, static_cast<size_t>(n));
    at += n;
  }
  return out;
}

}  // namespace

Fd Marker::create(int own, const std::string& directory_name, const std::string& host) {
  Fd fd(::openat(own, kName, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (fd.get() < 0)
    throw Error(
        fmt::format("cannot create {}/{}: {}", directory_name, kName, std::strerror(errno)));
  lock(fd.get());
  struct stat st {};
  if (::fstat(own, &st) != 0)
    throw Error(fmt::format("stat of {}: {}", directory_name, std::strerror(errno)));
  append(fd.get(), fmt::format("{} {} {} {}\n", kFormat, directory_name,
                               static_cast<uint64_t>(st.st_ino), host));
  ::fsync(fd.get());
  return fd;
}

void Marker::note(int marker, const std::string& name) { append(marker, name + "\n"); }

std::optional<Marker::Content> Marker::read(int marker) {
  const std::string text = whole_text(marker);
  if (text.empty() || text.back() != '\n') return std::nullopt;
  std::istringstream lines(text);
  std::string line, format;
  std::getline(lines, line);
  Content out;
  std::istringstream first(line);
  if (!(first >> format >> out.directory_name >> out.inode >> out.host) || format != kFormat)
    return std::nullopt;
  while (std::getline(lines, line)) {
    if (line.empty() || line == "." || line == ".." || line.find('/') != std::string::npos)
      return std::nullopt;
    out.files.insert(line);
  }
  return out;
}

}  // namespace cb::io
