#include "bench/storage/io/directory.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <optional>
#include <random>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/storage/io/marker.h"
#include "bench/storage/io/raw_guard.h"
#include "core/error.h"
#include "core/units.h"

namespace cb::io {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(said("io.dir_unusable", path, why));
}

std::string fresh_name(const std::string& host) {
  std::random_device random;
  return fmt::format("{}{}-{}-{:08x}", OwnDirectory::kPrefix, host, ::getpid(), random());
}

}  // namespace

std::string OwnDirectory::name_of_host(std::string host) {
  // No blanks: the name is one field of a line.
  const auto separates = [](char c) { return c == '/' || static_cast<unsigned char>(c) <= ' '; };
  std::replace_if(host.begin(), host.end(), separates, '_');
  return host;
}

// The form is "…<host>-<pid>-<random>".
bool OwnDirectory::is_of_host(const std::string& name, const std::string& host) {
  const std::string prefix = fmt::format("{}{}-", kPrefix, host);
  if (!name.starts_with(prefix)) return false;
  const std::string rest = name.substr(prefix.size());
  const size_t dash = rest.find('-');
  const auto pid = parse_integer(rest.substr(0, dash));
  return dash != std::string::npos && rest.find_last_not_of("0123456789abcdef") == dash && pid &&
         *pid > 0;
}

bool OwnDirectory::maker_lives(const std::string& name, const std::string& host) {
  if (!is_of_host(name, host)) return false;
  const std::string rest = name.substr(std::strlen(kPrefix) + host.size() + 1);
  const auto pid = static_cast<pid_t>(*parse_integer(rest.substr(0, rest.find('-'))));
  return ::kill(pid, 0) == 0 || errno == EPERM;
}

OwnDirectory::OwnDirectory(const std::string& parent, std::string host, Log log)
    : host_(name_of_host(std::move(host))), log_(std::move(log)) {
  parent_ = open_writable_directory(parent);
  if (parent_.get() < 0) refuse(parent, std::strerror(errno));
  if (::faccessat(parent_.get(), ".", W_OK | X_OK, AT_EACCESS) != 0)
    refuse(parent, fmt::format("not writable: {}", std::strerror(errno)));
  std::error_code ignored;
  parent_path_ = std::filesystem::canonical(parent, ignored).string();
  if (parent_path_.empty()) parent_path_ = parent;
}

OwnDirectory::~OwnDirectory() {
  const std::string trouble = remove_quietly();
  if (!trouble.empty() && log_) log_(trouble);
}

std::vector<std::string> OwnDirectory::leftovers() const {
  std::vector<std::string> out;
  const int copy = ::openat(parent_.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) return out;
  while (const dirent* entry = ::readdir(list)) {
    const std::string name = entry->d_name;
    if (name.starts_with(kPrefix) && name != name_ && !maker_lives(name, host_))
      out.push_back(name);
  }
  ::closedir(list);
  std::sort(out.begin(), out.end());
  return out;
}

void OwnDirectory::create() {
  const std::string name = fresh_name(host_);
  if (::mkdirat(parent_.get(), name.c_str(), 0700) != 0)
    refuse(parent_path_, fmt::format("mkdir {}: {}", name, std::strerror(errno)));
  name_ = name;
  own_ = Fd(::openat(parent_.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (own_.get() < 0) refuse(parent_path_, fmt::format("open {}: {}", name, std::strerror(errno)));
  marker_ = Marker::create(own_.get(), name_, host_);
}

std::string OwnDirectory::path_of(const std::string& file) const {
  return fmt::format("{}/{}/{}", parent_path_, name_, file);
}

void OwnDirectory::announce(const std::string& name) {
  Marker::note(marker_.get(), name);
  files_.push_back(name);
}

Fd OwnDirectory::create_file(const std::string& name, int flags) {
  Marker::note(marker_.get(), name);
  Fd fd(
      ::openat(own_.get(), name.c_str(), flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  // Some filesystems make the file first and then refuse the flags.
  const int error = errno;
  struct stat st {};
  if (fd.get() >= 0 ||
      (error != EEXIST && ::fstatat(own_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0))
    files_.push_back(name);
  if (fd.get() < 0)
    throw Error(fmt::format("cannot create {}: {}", path_of(name), std::strerror(error)));
  return fd;
}

Fd OwnDirectory::reopen(const std::string& name, int flags) const {
  Fd fd(::openat(own_.get(), name.c_str(), flags | O_NOFOLLOW | O_CLOEXEC));
  if (fd.get() >= 0) return fd;
  const bool direct = (flags & O_DIRECT) != 0 && errno == EINVAL;
  throw Error(fmt::format("cannot open {}: {}{}", path_of(name), std::strerror(errno),
                          direct ? "; this filesystem has no direct IO: use --no-direct" : ""));
}

std::string OwnDirectory::remove_quietly() noexcept try {
  if (name_.empty()) return "";
  std::string trouble;
  for (const std::string& file : files_) {
    if (::unlinkat(own_.get(), file.c_str(), 0) != 0 && errno != ENOENT)
      trouble = fmt::format("cannot remove {}: {}", path_of(file), std::strerror(errno));
  }
  files_.clear();
  if (marker_.get() >= 0) ::unlinkat(own_.get(), Marker::kName, 0);
  struct stat mine {
  }, there{};
  const bool same = ::fstat(own_.get(), &mine) == 0 &&
                    ::fstatat(parent_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                    mine.st_ino == there.st_ino && mine.st_dev == there.st_dev;
  // Removes only our own directory. One that others put files into stays (ENOTEMPTY).
  if (same && ::unlinkat(parent_.get(), name_.c_str(), AT_REMOVEDIR) != 0)
    trouble = fmt::format("cannot remove {}/{}: {}; remove it by hand", parent_path_, name_,
                          std::strerror(errno));
  name_.clear();
  return trouble;
} catch (const std::exception&) {
  return "out of memory while removing files";
}

std::string OwnDirectory::keep() {
  const std::string kept = kKeptPrefix + name_.substr(std::string(kPrefix).size());
  if (::renameat2(parent_.get(), name_.c_str(), parent_.get(), kept.c_str(), RENAME_NOREPLACE) != 0)
    throw Error(fmt::format("cannot rename {}/{} to {}: {}", parent_path_, name_, kept,
                            std::strerror(errno)));
  files_.clear();
  name_.clear();
  return parent_path_ + "/" + kept;
}

void OwnDirectory::remove() {
  const std::string trouble = remove_quietly();
  if (!trouble.empty()) throw Error(trouble);
}

}  // namespace cb::io
