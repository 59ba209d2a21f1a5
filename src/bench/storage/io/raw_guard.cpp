#include "bench/storage/io/raw_guard.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/path_end.h"

namespace cb::io {
namespace {

namespace fs_ = std::filesystem;

// How the device in use relates to the one named: "nvme0n1p2, a partition of nvme0n1,".
std::string relation(const block::Device& named, const block::Device& used) {
  if (used.name == named.name) return used.name;
  const bool part = std::find(named.partitions.begin(), named.partitions.end(), used.name) !=
                    named.partitions.end();
  if (part) return fmt::format("{}, a partition of {},", used.name, named.name);
  if (named.partition && !used.partition && used.slaves.empty())
    return fmt::format("{}, the disk that {} is a part of,", used.name, named.name);
  return fmt::format("{}{}, which is built on {},", used.name,
                     used.mapped_name ? fmt::format(" ({})", *used.mapped_name) : "", named.name);
}

void add_uses(const FsRoot& fs, const block::Device& device, std::vector<std::string>& out) {
  for (const block::Device& d : block::touched_by_writing(fs, device)) {
    const std::string what = relation(device, d);
    if (const auto points = block::mount_points(fs, d); !points.empty())
      out.push_back(fmt::format("{} is mounted on {}; next: unmount it, if its data may be lost",
                                what, fmt::join(points, ", ")));
    if (block::is_swap(fs, d))
      out.push_back(fmt::format("{} is swap space in use; next: swapoff, if it may be lost", what));
    if (!d.holders.empty())
      out.push_back(
          fmt::format("{} is held by {} (LVM, RAID, encryption, multipath or cache); next: take "
                      "that apart first, if its data may be lost",
                      what, fmt::join(d.holders, ", ")));
  }
}

// One unit can have several names, one for each path that leads to it.
void add_other_paths(const FsRoot& fs, const block::Device& device, std::vector<std::string>& out) {
  if (!device.wwid) return;
  for (const block::Device& other : block::all(fs)) {
    if (other.partition || other.name == device.name || other.wwid != device.wwid) continue;
    if (const auto whole = block::whole(fs, device); whole && whole->name == other.name) continue;
    std::vector<std::string> uses;
    add_uses(fs, other, uses);
    for (const std::string& use : uses)
      out.push_back(fmt::format("another path to the same unit ({}): {}", *device.wwid, use));
  }
}

void add_identity(const block::Device& device, const std::optional<std::string>& serial,
                  std::vector<std::string>& out) {
  if (device.backing_file)
    out.push_back(fmt::format("{} is a loop device over {}; next: use --dir on that filesystem",
                              device.name, *device.backing_file));
  if (!device.slaves.empty())
    out.push_back(fmt::format("{} is built on {}; next: name a physical device, or use --dir",
                              device.name, fmt::join(device.slaves, ", ")));
  if (!device.serial)
    out.push_back(
        fmt::format("{} has no serial number by which it could be meant for certain; "
                    "next: use --dir on a filesystem of it",
                    device.name));
  else if (!serial || serial->empty())
    out.push_back(
        fmt::format("writing {} destroys what is on it; next: if that is wanted, read the serial "
                    "number off the device's label or inventory and give it with "
                    "--allow-raw-write SERIAL",
                    device.name));
  else if (*serial != *device.serial)
    out.push_back(
        fmt::format("{} has the serial number {}, not {}; next: check which device is "
                    "meant: names change from one boot to the next",
                    device.name, *device.serial, *serial));
}

bool is_same(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool is_file_at(const std::string& path, const struct stat& file) {
  struct stat there {};
  return ::stat(path.c_str(), &there) == 0 && is_same(there, file);
}

// Filesystems that the kernel makes up: a write there changes the system and not a disk. The
// numbers that linux/magic.h lacks are from the kernel's sources.
bool is_kernels_own(int fd) {
  constexpr std::array<long, 17> kMagic{
      PROC_SUPER_MAGIC, SYSFS_MAGIC,        DEBUGFS_MAGIC,           TRACEFS_MAGIC,
      SECURITYFS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,     DEVPTS_SUPER_MAGIC,
      EFIVARFS_MAGIC,   BPF_FS_MAGIC,       PSTOREFS_MAGIC,          SELINUX_MAGIC,
      HUGETLBFS_MAGIC,  BINFMTFS_MAGIC,     0x19800202 /* mqueue */, 0x62656570 /* configfs */,
      0x65735543 /* fusectl */};
  struct statfs st {};
  return ::fstatfs(fd, &st) == 0 &&
         std::find(kMagic.begin(), kMagic.end(), static_cast<long>(st.f_type)) != kMagic.end();
}

// The system directory that this one is or lies in, with no mount between them: what is mounted
// there (/dev/shm, a disk at /usr/local) is storage of its own.
std::optional<std::string> system_directory_around(int directory) {
  struct stat first {
  }, here{};
  if (::fstat(directory, &first) != 0) return std::nullopt;
  Fd at(::openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  while (at.open() && ::fstat(at.get(), &here) == 0 && here.st_dev == first.st_dev) {
    for (const char* name : {"/etc", "/boot", "/bin", "/sbin", "/lib", "/lib64", "/usr", "/dev"}) {
      if (is_file_at(name, here)) return name;
    }
    if (is_file_at("/", here)) return std::nullopt;
    at = Fd(::openat(at.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return std::nullopt;
}

std::vector<std::string> prefixed(const std::string& path, std::vector<std::string> reasons) {
  for (std::string& reason : reasons) reason = fmt::format("{}: {}", path, reason);
  return reasons;
}

void refuse(const std::string& option, const std::string& path,
            const std::vector<std::string>& reasons) {
  if (reasons.empty()) return;
  Problems problems;
  for (const std::string& reason : prefixed(path, reasons)) problems.add(option, reason);
  throw UsageError("clusterbench io", problems);
}

std::vector<Signature> signatures_of(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0)
    throw Error(
        fmt::format("cannot be opened to look for data on it: {}; next: ask for the right "
                    "to read it",
                    std::strerror(errno)));
  return signatures(fd.get(), path);
}

// Returns all reasons together, even if the device's content cannot be read.
std::vector<std::string> why_not_write_device_at(const FsRoot& fs, const std::string& path,
                                                 block::Number number,
                                                 const std::optional<std::string>& serial) {
  std::vector<Signature> found;
  std::vector<std::string> out;
  try {
    found = signatures_of(path);
  } catch (const Error& e) {
    out.emplace_back(e.what());
  }
  const auto more = why_not_write_device(fs, number, serial, found);
  out.insert(out.begin(), more.begin(), more.end());
  return out;
}

// Opens the file itself, by a path whose links nobody else can redirect meanwhile
// (core/path_end.h).
Fd look_at_file(const std::string& path) {
  const fs_::path whole(path);
  const fs_::path parent = whole.has_parent_path() ? whole.parent_path() : fs_::path(".");
  const PathEnd around = locate(parent);
  const Fd directory(
      ::openat(around.directory.get(), around.name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  Fd out(::openat(directory.get(), whole.filename().c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (out.get() < 0) throw Error(std::strerror(errno));
  return out;
}

int open_exclusively(const std::string& path, block::Number expected, int flags) {
  Fd fd(::open(path.c_str(), flags | O_EXCL | O_CLOEXEC));
  if (fd.get() < 0 && errno == EBUSY)
    throw Error(
        fmt::format("{} is in use by the kernel (a mount in another namespace, a claim of "
                    "md, LVM, ZFS or bcache): it is not written; next: name another device",
                    path));
  if (fd.get() < 0)
    throw Error(fmt::format("cannot open {} for writing: {}", path, std::strerror(errno)));
  struct stat st {};
  if (::fstat(fd.get(), &st) != 0 || !S_ISBLK(st.st_mode) ||
      block::Number{major(st.st_rdev), minor(st.st_rdev)} != expected)
    throw Error(
        fmt::format("{} is not the device any more that was looked at; next: start again", path));
  return fd.release();
}

}  // namespace

std::vector<std::string> why_not_write_device(const FsRoot& fs, block::Number number,
                                              const std::optional<std::string>& serial,
                                              const std::vector<Signature>& found) {
  const auto device = block::find(fs, number);
  if (!device)
    return {
        fmt::format("the kernel says nothing of the block device {} in /sys; next: run on the "
                    "host itself, where /sys is complete",
                    block::to_text(number))};
  std::vector<std::string> out;
  add_identity(*device, serial, out);
  if (device->read_only) out.push_back(fmt::format("{} is read-only", device->name));
  add_uses(fs, *device, out);
  if (!device->partitions.empty())
    out.push_back(
        fmt::format("{} has the partitions {}; next: remove the partition table "
                    "(wipefs), if their data may be lost",
                    device->name, fmt::join(device->partitions, ", ")));
  add_other_paths(fs, *device, out);
  for (const Signature& s : found)
    out.push_back(
        fmt::format("{} holds a {} signature ({}); next: wipefs it, if the data may be "
                    "lost",
                    device->name, s.type, s.kind));
  return out;
}

std::vector<std::string> why_not_overwrite_file(const FsRoot& fs, int file) {
  std::vector<std::string> out;
  struct stat st {};
  if (::fstat(file, &st) != 0) return {std::strerror(errno)};
  if (S_ISLNK(st.st_mode)) {
    std::string target(PATH_MAX, '\0');
    const ssize_t length = ::readlinkat(file, "", target.data(), target.size());
    target.resize(static_cast<size_t>(std::max<ssize_t>(length, 0)));
    return {fmt::format("is a symbolic link to {}; next: name that file itself", target)};
  }
  if (!S_ISREG(st.st_mode)) {
    out.push_back("is neither a regular file nor a block device; next: use --dir");
    return out;
  }
  if (st.st_nlink > 1)
    out.push_back(
        fmt::format("has {} names (hard links): the others' data would be lost too; "
                    "next: use --dir",
                    st.st_nlink));
  if (is_kernels_own(file)) out.push_back("lies on a filesystem of the kernel's own; next: --dir");
  for (const block::Swap& swap : block::swaps(fs)) {
    if (swap.is_file && is_file_at(swap.path, st))
      out.push_back("is swap space in use; next: use --dir");
  }
  for (const block::Device& d : block::all(fs)) {
    if (d.backing_file && is_file_at(*d.backing_file, st))
      out.push_back(fmt::format("is what the loop device {} stands on; next: use --dir", d.name));
  }
  return out;
}

std::vector<std::string> why_not_make_directory(int directory) {
  std::vector<std::string> out;
  struct stat st {};
  if (::fstat(directory, &st) == 0 && is_file_at("/", st))
    out.push_back("is the root of the system; next: name a directory of the storage under test");
  if (is_kernels_own(directory))
    out.push_back(
        "lies on a filesystem of the kernel's own; next: name a directory of the storage "
        "under test");
  else if (const auto system = system_directory_around(directory))
    out.push_back(fmt::format(
        "belongs to the system ({}); next: name a directory of the storage under test", *system));
  return out;
}

WritableTarget writable_target(const FsRoot& fs, const std::string& path,
                               const WritePermission& permission) {
  struct stat st {};
  if (::stat(path.c_str(), &st) != 0)
    refuse("--file", path, {std::string(std::strerror(errno)) + "; next: name an existing file"});
  if (S_ISBLK(st.st_mode)) {
    const block::Number number{major(st.st_rdev), minor(st.st_rdev)};
    refuse("--file", path, why_not_write_device_at(fs, path, number, permission.serial));
    return WritableTarget::of_device(path, number);
  }
  std::vector<std::string> reasons;
  Fd file;
  try {
    file = look_at_file(path);
    reasons = why_not_overwrite_file(fs, file.get());
  } catch (const Error& e) {
    reasons.emplace_back(e.what());
  }
  if (!permission.overwrite)
    reasons.push_back("is no block device; next: --allow-overwrite, if its content may be lost");
  refuse("--file", path, reasons);
  return WritableTarget::of_file(path, std::move(file));
}

Fd open_writable_directory(const std::string& path) {
  Fd out(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (out.get() >= 0) refuse("--dir", path, why_not_make_directory(out.get()));
  return out;
}

WritableTarget WritableTarget::of_device(std::string path, block::Number number) {
  WritableTarget out;
  out.path_ = std::move(path);
  out.number_ = number;
  return out;
}

WritableTarget WritableTarget::of_file(std::string path, Fd looked_at) {
  WritableTarget out;
  out.path_ = std::move(path);
  out.looked_at_ = std::move(looked_at);
  return out;
}

int WritableTarget::open(int flags) const {
  if (is_device()) return open_exclusively(path_, number_, flags);
  Fd fd(::open(path_.c_str(), flags | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  if (fd.get() < 0) return -1;
  struct stat now {
  }, before{};
  if (::fstat(fd.get(), &now) != 0 || ::fstat(looked_at_.get(), &before) != 0 ||
      !is_same(now, before))
    throw Error(
        fmt::format("{} is not the file any more that was looked at; next: start again", path_));
  return fd.release();
}

}  // namespace cb::io
