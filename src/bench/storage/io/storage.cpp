#include "bench/storage/io/storage.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/stat.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "core/error.h"
#include "core/units.h"

namespace cb::io {
namespace {

constexpr uint64_t kWindow = uint64_t{4} << 20;
constexpr uint64_t kWindows = 64;

// mountinfo writes a space as \040.
std::string unescape(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                               (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

struct Mount {
  uint64_t id = 0;
  Storage storage;
};

// "36 35 98:0 /root /mnt/point rw,noatime shared:1 - ext4 /dev/sda1 rw" (proc(5)).
std::optional<Mount> parse_mount(const std::string& line) {
  std::istringstream in(line);
  std::string id, parent, device, root, point, word;
  if (!(in >> id >> parent >> device >> root >> point)) return std::nullopt;
  while (in >> word && word != "-") {
  }
  Mount out;
  std::string source;
  if (!(in >> out.storage.filesystem >> source)) return std::nullopt;
  out.id = static_cast<uint64_t>(parse_integer(id).value_or(0));
  out.storage.mount_point = unescape(point);
  out.storage.source = unescape(source);
  out.storage.in_memory = out.storage.filesystem == "tmpfs" || out.storage.filesystem == "ramfs";
  out.storage.on_device = out.storage.source.starts_with("/dev/");
  return out;
}

bool leads_to(const std::string& mount_point, const std::string& path) {
  if (mount_point == "/") return true;
  return path.starts_with(mount_point) &&
         (path.size() == mount_point.size() || path[mount_point.size()] == '/');
}

std::optional<uint64_t> meminfo(const FsRoot& fs, const std::string& key) {
  std::istringstream in(fs.text("/proc/meminfo").value_or(""));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key + ":")) return std::stoull(line.substr(key.size() + 1)) * 1024;
  }
  return std::nullopt;
}

std::string text_of_file(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

Storage find_storage(std::string_view mountinfo, std::optional<uint64_t> mount_id,
                     const std::string& path) {
  Storage best;
  std::istringstream in{std::string(mountinfo)};
  for (std::string line; std::getline(in, line);) {
    const auto mount = parse_mount(line);
    if (!mount) continue;
    if (mount_id && mount->id == *mount_id) return mount->storage;
    // Later mounts lie over earlier ones.
    if (leads_to(mount->storage.mount_point, path) &&
        mount->storage.mount_point.size() >= best.mount_point.size())
      best = mount->storage;
  }
  return best;
}

Storage storage_of(int fd, const std::string& path) {
  struct statx st {};
  if (::statx(fd, "", AT_EMPTY_PATH, STATX_MNT_ID, &st) != 0)
    throw Error(fmt::format("statx of {}: {}", path, std::strerror(errno)));
  std::optional<uint64_t> id;
  if ((st.stx_mask & STATX_MNT_ID) != 0) id = st.stx_mnt_id;
  return find_storage(text_of_file("/proc/self/mountinfo"), id, path);
}

std::optional<uint64_t> bytes_read_from_storage() {
  std::istringstream in(text_of_file("/proc/self/io"));
  std::string key;
  for (uint64_t value = 0; in >> key >> value;) {
    if (key == "read_bytes:") return value;
  }
  return std::nullopt;
}

std::optional<double> cached_share(int fd, uint64_t file_bytes, uint64_t first) {
  if (file_bytes == 0) return std::nullopt;
  const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  void* map = ::mmap(nullptr, file_bytes, PROT_READ, MAP_SHARED, fd,
                     static_cast<off_t>(first / page * page));
  if (map == MAP_FAILED) return std::nullopt;
  const uint64_t windows = std::min(kWindows, (file_bytes + kWindow - 1) / kWindow);
  uint64_t pages = 0, there = 0;
  std::vector<unsigned char> state(kWindow / page + 1);
  bool answered = true;
  for (uint64_t i = 0; i < windows && answered; ++i) {
    const uint64_t begin = file_bytes / windows * i / page * page;
    const uint64_t length = std::min(kWindow, file_bytes - begin);
    answered = ::mincore(static_cast<char*>(map) + begin, length, state.data()) == 0;
    const uint64_t count = (length + page - 1) / page;
    pages += count;
    there += static_cast<uint64_t>(std::count_if(state.begin(),
                                                 state.begin() + static_cast<ptrdiff_t>(count),
                                                 [](unsigned char s) { return (s & 1) != 0; }));
  }
  ::munmap(map, file_bytes);
  if (!answered || pages == 0) return std::nullopt;
  return static_cast<double>(there) / static_cast<double>(pages);
}

std::optional<uint64_t> memory_total(const FsRoot& fs) { return meminfo(fs, "MemTotal"); }
std::optional<uint64_t> memory_available(const FsRoot& fs) { return meminfo(fs, "MemAvailable"); }

uint64_t free_bytes(int fd, const Storage& storage, const FsRoot& fs) {
  struct statvfs st {};
  if (::fstatvfs(fd, &st) != 0)
    throw Error(said("io.no_statvfs", storage.mount_point, std::strerror(errno)));
  const uint64_t free = static_cast<uint64_t>(st.f_bavail) * st.f_frsize;
  if (!storage.in_memory) return free;
  return std::min(free, memory_available(fs).value_or(free));
}

}  // namespace cb::io
