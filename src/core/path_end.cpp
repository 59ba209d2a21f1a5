#include "core/path_end.h"

#include <cerrno>
#include <climits>
#include <cstring>
#include <deque>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "core/error.h"

namespace cb {
namespace {

constexpr int kMaxLinks = 40;  // the kernel's own limit
constexpr int kLook = O_PATH | O_NOFOLLOW | O_CLOEXEC;

[[noreturn]] void fail() { throw Error(std::strerror(errno)); }

bool in_procfs(int fd) {
  struct statfs fs {};
  return ::fstatfs(fd, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

std::string target_of(int link) {
  std::string out(PATH_MAX, '\0');
  const ssize_t n = ::readlinkat(link, "", out.data(), out.size());
  if (n < 0) fail();
  out.resize(static_cast<size_t>(n));
  return out;
}

void put_in_front(std::deque<std::string>& steps, const std::filesystem::path& path) {
  std::deque<std::string> out;
  for (const auto& part : path) {
    if (part != "/") out.push_back(part.empty() ? "." : part.string());
  }
  steps.insert(steps.begin(), out.begin(), out.end());
}

struct stat status_of(int fd) {
  struct stat out {};
  if (::fstat(fd, &out) != 0) fail();
  return out;
}

void require_trusted(const std::string& name, const struct stat& link, int directory, bool last) {
  if (link.st_uid == ::geteuid() || link.st_uid == 0) return;
  const struct stat around = status_of(directory);
  const bool anybody_writes = (around.st_mode & S_IWOTH) != 0 && around.st_uid != link.st_uid;
  if (!last && !anybody_writes) return;
  throw Error(fmt::format(
      "{} is a symbolic link of another user (uid {}); next: name the file that is meant by its "
      "own path",
      name, link.st_uid));
}

Descriptor begin(const std::filesystem::path& path) {
  Descriptor out(::open(path.is_absolute() ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!out.open()) fail();
  return out;
}

}  // namespace

PathEnd locate(const std::filesystem::path& path) {
  Descriptor directory = begin(path);
  std::deque<std::string> steps;
  put_in_front(steps, path);
  if (steps.empty()) steps.emplace_back(".");
  for (int links = 0; !steps.empty();) {
    const std::string name = steps.front();
    steps.pop_front();
    Descriptor at(::openat(directory.get(), name.c_str(), kLook));
    if (!at.open() && errno == ENOENT && steps.empty()) return {std::move(directory), name};
    if (!at.open()) fail();
    const struct stat found = status_of(at.get());
    if (!S_ISLNK(found.st_mode)) {
      if (steps.empty()) return {std::move(directory), name};
      directory = std::move(at);
      continue;
    }
    require_trusted(name, found, directory.get(), steps.empty());
    if (++links > kMaxLinks) throw Error(std::strerror(ELOOP));
    if (in_procfs(directory.get())) {
      if (steps.empty()) return {std::move(directory), name, true};
      directory = Descriptor(::openat(directory.get(), name.c_str(), O_PATH | O_CLOEXEC));
      if (!directory.open()) fail();
      continue;
    }
    const std::filesystem::path target = target_of(at.get());
    if (target.is_absolute()) directory = begin(target);
    put_in_front(steps, target);
  }
  return {std::move(directory), "."};
}

}  // namespace cb
