// Memory, huge pages by size, and NUMA nodes with their processors, memory and distances.
#include <fmt/format.h>

#include "core/units.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"

namespace cb::inventory {
namespace {

// Returns the bytes in a "MemTotal:  24684084 kB" line.
std::optional<long long> kibibyte_field(const std::string& text, std::string_view key) {
  for (const std::string& line : lines(text)) {
    const size_t at = line.find(key);
    if (at == std::string::npos) continue;
    const auto cells = words(std::string_view(line).substr(at + key.size()));
    if (cells.size() < 2 || cells[1] != "kB") continue;
    const auto value = parse_integer(cells[0]);
    if (value && *value >= 0 && *value < (1LL << 52)) return *value * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::vector<Part> memory_parts(const FsRoot& fs) {
  const auto text = fs.text("/proc/meminfo");
  if (!text) return {};
  Part part{.kind = "memory", .id = "0"};
  put_integer(part, "total_bytes", kibibyte_field(*text, "MemTotal:"));
  put_integer(part, "available_bytes", kibibyte_field(*text, "MemAvailable:"));
  add_modules(part, fs);
  return {part};
}

std::vector<Part> hugepage_parts(const FsRoot& fs) {
  const std::string base = "/sys/kernel/mm/hugepages/";
  constexpr std::string_view kPrefix = "hugepages-";
  std::vector<Part> out;
  for (const std::string& name : fs.entries(base)) {
    if (!name.starts_with(kPrefix) || !name.ends_with("kB")) continue;
    const auto kibibytes =
        parse_integer(name.substr(kPrefix.size(), name.size() - kPrefix.size() - 2));
    if (!kibibytes || *kibibytes <= 0 || *kibibytes > (1LL << 40)) continue;
    Part part{.kind = "hugepages", .id = format_size(*kibibytes * 1024)};
    part.attributes["page_bytes"] = *kibibytes * 1024;
    put_number_file(part, "pages", fs, base + name + "/nr_hugepages");
    put_number_file(part, "free_pages", fs, base + name + "/free_hugepages");
    out.push_back(std::move(part));
  }
  return out;
}

std::vector<Part> numa_parts(const FsRoot& fs) {
  const std::string base = "/sys/devices/system/node/";
  std::vector<Part> out;
  for (const std::string& name : fs.entries(base)) {
    if (!name.starts_with("node") || !parse_integer(name.substr(4))) continue;
    Part part{.kind = "numa", .id = name.substr(4)};
    const std::string dir = base + name + "/";
    put_file(part, "cpus", fs, dir + "cpulist");
    put_file(part, "distances", fs, dir + "distance");
    put_integer(part, "memory_bytes",
                kibibyte_field(fs.text(dir + "meminfo").value_or(""), "MemTotal:"));
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace cb::inventory
