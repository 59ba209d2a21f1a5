#include "bench/storage/io/clean.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/storage/io/directory.h"
#include "bench/storage/io/marker.h"
#include "core/error.h"

namespace cb::io {
namespace {

std::vector<std::string> names_in(int directory) {
  std::vector<std::string> out;
  const int copy = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* list = copy < 0 ? nullptr : ::fdopendir(copy);
  if (list == nullptr) throw Error(fmt::format("cannot list: {}", std::strerror(errno)));
  while (const dirent* entry = ::readdir(list)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") out.push_back(name);
  }
  ::closedir(list);
  std::sort(out.begin(), out.end());
  return out;
}

// One directory that has our prefix. A function that returns a text returns why the directory must
// stay, or an empty text.
class Leftover {
 public:
  Leftover(int parent, std::string name, const std::string& host)
      : parent_(parent), name_(std::move(name)), host_(host) {}

  Said remove() {
    Said why = open();
    if (why.empty()) why = marker_.get() < 0 ? remove_unmarked() : remove_marked();
    return why;
  }

 private:
  Said open() {
    own_ = Fd(::openat(parent_, name_.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (own_.get() < 0) return std::strerror(errno);
    struct stat above {};
    if (::fstat(own_.get(), &self_) != 0 || ::fstat(parent_, &above) != 0)
      return std::strerror(errno);
    if (self_.st_dev != above.st_dev) return said("clean.mounted");
    if (self_.st_uid != ::geteuid()) return said("clean.other_user");
    names_ = names_in(own_.get());
    marker_ = Fd(::openat(own_.get(), Marker::kName, O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (marker_.get() < 0 && errno != ENOENT)
      return said("clean.marker_closed", std::strerror(errno));
    return "";
  }

  // The run was killed after it made the directory and before it made the marker, or after it
  // removed the marker and before it removed the directory.
  Said remove_unmarked() {
    if (!names_.empty()) return said("clean.no_marker");
    if (const Said why = foreign_or_alive(); !why.empty()) return why;
    return remove_directory();
  }

  Said foreign_or_alive() const {
    if (!OwnDirectory::is_of_host(name_, host_)) return said("clean.other_host");
    return OwnDirectory::maker_lives(name_, host_) ? said("clean.alive") : Said();
  }

  Said remove_marked() {
    if (::flock(marker_.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return said("clean.in_use");
      // This filesystem has no locks.
      if (const Said why = foreign_or_alive(); !why.empty()) return why;
    }
    const auto content = Marker::read(marker_.get());
    if (!content && names_.size() == 1) {  // the run was killed while it made the marker
      if (const Said why = foreign_or_alive(); !why.empty()) return why;
      return remove_files();
    }
    if (!content) return said("clean.damaged");
    if (content->directory_name != name_ || content->inode != static_cast<uint64_t>(self_.st_ino))
      return said("clean.copy");
    if (content->host != host_) return said("clean.of_host", content->host);
    for (const std::string& name : names_) {
      if (name != Marker::kName && !is_our_file(name, *content))
        return said("clean.not_ours", name);
    }
    return remove_files();
  }

  bool is_our_file(const std::string& name, const Marker::Content& content) const {
    struct stat st {};
    return content.files.contains(name) &&
           ::fstatat(own_.get(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) == 0 &&
           S_ISREG(st.st_mode) && st.st_uid == self_.st_uid;
  }

  Said remove_files() {
    // The marker goes last: if this process is killed too, what is left is still known as ours.
    std::stable_partition(names_.begin(), names_.end(),
                          [](const std::string& name) { return name != Marker::kName; });
    for (const std::string& name : names_) {
      if (::unlinkat(own_.get(), name.c_str(), 0) != 0 && errno != ENOENT)
        return said("clean.not_removed", name, std::strerror(errno));
    }
    return remove_directory();
  }

  Said remove_directory() {
    struct stat there {};
    const bool same = ::fstatat(parent_, name_.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
                      there.st_ino == self_.st_ino && there.st_dev == self_.st_dev;
    if (!same) return said("clean.changed");
    return ::unlinkat(parent_, name_.c_str(), AT_REMOVEDIR) == 0 ? Said()
                                                                 : Said(std::strerror(errno));
  }

  int parent_;
  std::string name_;
  std::string host_;
  Fd own_, marker_;
  struct stat self_ {};
  std::vector<std::string> names_;
};

}  // namespace

Cleaned clean_leftovers(const std::string& parent, const std::string& host) {
  const Fd fd(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (fd.get() < 0)
    throw Error(
        fmt::format("{} cannot be cleaned: {}; next: name the directory that was given "
                    "with --dir",
                    parent, std::strerror(errno)));
  Cleaned out;
  for (const std::string& name : names_in(fd.get())) {
    if (!name.starts_with(OwnDirectory::kPrefix)) continue;
    const Said why = Leftover(fd.get(), name, host).remove();
    if (why.empty())
      out.removed.push_back(name);
    else
      out.kept.emplace_back(name, why);
  }
  return out;
}

std::vector<Record> run_clean(Context& context, const Params& params) {
  Record record{.case_name = "io", .params = params};
  record.entity({context.place.host, "host", ""});
  if (!context.place.first_on_host()) return {record};
  const std::string& parent = params.text("clean");
  const Cleaned done = clean_leftovers(parent, OwnDirectory::name_of_host(context.place.host));
  const std::string& host = context.place.host;
  for (const std::string& name : done.removed)
    record.notes.push_back(said("clean.removed", host, parent, name));
  for (const auto& [name, why] : done.kept)
    record.notes.push_back(said("clean.kept", host, parent, name, why));
  if (done.removed.empty() && done.kept.empty())
    record.notes.push_back(said("clean.nothing", host, parent));
  return {record};
}

}  // namespace cb::io
