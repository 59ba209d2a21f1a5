#include "sys/storage/block.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>

namespace cb::block {
namespace {

constexpr uint64_t kSectorBytes = 512;  // unit of sysfs's size files on every device

std::string node(const std::string& name) { return "/sys/class/block/" + name; }

std::optional<Number> parse_number(const std::optional<std::string>& text) {
  Number out;
  if (!text || std::sscanf(text->c_str(), "%u:%u", &out.major, &out.minor) != 2)
    return std::nullopt;
  return out;
}

std::optional<std::string> trimmed(std::optional<std::string> text) {
  if (!text) return std::nullopt;
  const std::string padding(" \t\0", 3);
  text->erase(0, text->find_first_not_of(padding));
  text->erase(text->find_last_not_of(padding) + 1);
  if (text->empty()) return std::nullopt;
  return text;
}

// SCSI vital product data page 80h: four bytes of header, of which the last two are the length,
// then the serial number (SPC-4 7.8.13).
std::optional<std::string> scsi_serial(const FsRoot& fs, const std::string& dir) {
  const auto page = fs.text(dir + "/device/vpd_pg80");
  if (!page || page->size() <= 4) return std::nullopt;
  return trimmed(page->substr(4));
}

std::optional<std::string> first_text(const FsRoot& fs, const std::string& dir,
                                      std::initializer_list<const char*> files) {
  for (const char* file : files) {
    if (auto text = trimmed(fs.text(dir + file))) return text;
  }
  return std::nullopt;
}

// The kernel writes white space and backslashes as \ooo.
std::string unescape(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned value = 0;
    if (text[i] == '\\' && std::sscanf(text.substr(i + 1, 3).c_str(), "%3o", &value) == 1) {
      out += static_cast<char>(value);
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// Returns the kernel's name of a path such as /dev/disk/by-id/x, /dev/mapper/vg-lv or /dev/sda1.
std::optional<std::string> kernel_name(const FsRoot& fs, const std::string& path) {
  if (!path.starts_with("/dev/")) return std::nullopt;
  std::error_code error;
  const auto real = std::filesystem::canonical(fs.resolve(path), error);
  const std::string name = error ? path.substr(path.rfind('/') + 1) : real.filename().string();
  if (fs.exists(node(name) + "/dev")) return name;
  for (const std::string& candidate : fs.entries("/sys/class/block")) {
    if (fs.text(node(candidate) + "/dm/name") == name) return candidate;
  }
  return std::nullopt;
}

void add_once(std::vector<Device>& list, const std::optional<Device>& device) {
  const auto same = [&](const Device& d) { return d.name == device->name; };
  if (device && std::find_if(list.begin(), list.end(), same) == list.end()) list.push_back(*device);
}

// Returns the node of the nearest device above that has one: an NVMe controller, or the PCI
// function of a SCSI host.
std::optional<int> numa_node_above(const FsRoot& fs, const std::string& dir) {
  std::error_code error;
  const auto top = std::filesystem::canonical(fs.resolve("/sys"), error);
  if (error) return std::nullopt;
  auto at = std::filesystem::canonical(fs.resolve(dir + "/device"), error);
  for (; !error && at != top && at.has_relative_path(); at = at.parent_path()) {
    const auto number = FsRoot(at).integer("/numa_node");
    if (number && *number >= 0) return static_cast<int>(*number);
  }
  return std::nullopt;
}

void fill_identity(const FsRoot& fs, const std::string& dir, Device& out) {
  out.serial = first_text(fs, dir, {"/serial", "/device/serial"});
  if (!out.serial) out.serial = scsi_serial(fs, dir);
  out.wwid = first_text(fs, dir, {"/wwid", "/device/wwid"});
  out.model = first_text(fs, dir, {"/device/model"});
  out.numa_node = numa_node_above(fs, dir);
  out.removable = fs.integer(dir + "/removable").value_or(0) != 0;
}

}  // namespace

std::string to_text(Number number) { return fmt::format("{}:{}", number.major, number.minor); }

std::optional<Device> find(const FsRoot& fs, const std::string& name) {
  const std::string dir = node(name);
  const auto number = parse_number(fs.text(dir + "/dev"));
  if (!number) return std::nullopt;
  Device out{.number = *number, .name = name};
  out.partition = fs.exists(dir + "/partition");
  out.bytes = static_cast<uint64_t>(fs.integer(dir + "/size").value_or(0)) * kSectorBytes;
  out.read_only = fs.integer(dir + "/ro").value_or(0) != 0;
  out.backing_file = fs.text(dir + "/loop/backing_file");
  out.mapped_name = fs.text(dir + "/dm/name");
  fill_identity(fs, out.partition ? dir + "/.." : dir, out);
  for (const std::string& entry : fs.entries(dir)) {
    if (fs.exists(dir + "/" + entry + "/partition")) out.partitions.push_back(entry);
  }
  out.holders = fs.entries(dir + "/holders");
  out.slaves = fs.entries(dir + "/slaves");
  return out;
}

std::optional<Device> find(const FsRoot& fs, Number number) {
  const auto name = fs.link_name("/sys/dev/block/" + to_text(number));
  return name ? find(fs, *name) : std::nullopt;
}

std::optional<Device> find_path(const FsRoot& fs, const std::string& path) {
  const auto name = kernel_name(fs, path);
  return name ? find(fs, *name) : std::nullopt;
}

std::optional<Device> whole(const FsRoot& fs, const Device& partition) {
  const auto number = parse_number(fs.text(node(partition.name) + "/../dev"));
  return partition.partition && number ? find(fs, *number) : std::nullopt;
}

std::vector<Device> all(const FsRoot& fs) {
  std::vector<Device> out;
  for (const std::string& name : fs.entries("/sys/class/block")) add_once(out, find(fs, name));
  return out;
}

std::vector<Device> disks_below(const FsRoot& fs, const Device& device) {
  std::vector<Device> open{device}, out;
  for (size_t i = 0; i < open.size(); ++i) {
    const Device at = open[i];
    for (const std::string& slave : at.slaves) add_once(open, find(fs, slave));
    if (at.partition)
      add_once(open, whole(fs, at));
    else if (at.slaves.empty())
      out.push_back(at);
  }
  return out;
}

std::vector<Device> touched_by_writing(const FsRoot& fs, const Device& device) {
  std::vector<Device> out{device};
  if (device.partition) add_once(out, whole(fs, device));
  for (const std::string& name : device.partitions) add_once(out, find(fs, name));
  for (size_t i = 0; i < out.size(); ++i) {
    const std::vector<std::string> holders = out[i].holders;  // a copy, because `out` grows below
    for (const std::string& name : holders) {
      const auto holder = find(fs, name);
      add_once(out, holder);
      if (!holder) continue;
      for (const std::string& part : holder->partitions) add_once(out, find(fs, part));
    }
  }
  return out;
}

std::vector<std::string> mount_points(const FsRoot& fs, const Device& device) {
  std::vector<std::string> out;
  std::istringstream in(fs.text("/proc/self/mountinfo").value_or(""));
  // "36 35 98:0 /root /mnt/point rw,noatime shared:1 - ext4 /dev/sda1 rw" (proc(5)).
  for (std::string line; std::getline(in, line);) {
    std::istringstream cells(line);
    std::string id, parent, number, root, point, word, type, source;
    cells >> id >> parent >> number >> root >> point;
    while (cells >> word && word != "-") {
    }
    if (!(cells >> type >> source)) continue;
    if (parse_number(number) == device.number || kernel_name(fs, unescape(source)) == device.name)
      out.push_back(unescape(point));
  }
  return out;
}

std::vector<Swap> swaps(const FsRoot& fs) {
  std::vector<Swap> out;
  std::istringstream in(fs.text("/proc/swaps").value_or(""));
  std::string line;
  std::getline(in, line);  // skips the heading
  while (std::getline(in, line)) {
    std::istringstream cells(line);
    std::string path, type;
    if (cells >> path >> type) out.push_back({unescape(path), type == "file"});
  }
  return out;
}

bool is_swap(const FsRoot& fs, const Device& device) {
  const std::vector<Swap> list = swaps(fs);
  return std::any_of(list.begin(), list.end(), [&](const Swap& swap) {
    return !swap.is_file && kernel_name(fs, swap.path) == device.name;
  });
}

}  // namespace cb::block
