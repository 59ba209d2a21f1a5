// Processor model, topology, instruction sets that the kernels of this program use, and caches.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"

namespace cb::inventory {
namespace {

const std::string kCpus = "/sys/devices/system/cpu/";

std::string cpu_path(int cpu, const std::string& rest) {
  return fmt::format("{}cpu{}/{}", kCpus, cpu, rest);
}

// Arm cores have numbers instead of a name: MIDR_EL1 implementer and part (Arm's technical
// reference manuals, Linux arch/arm64/include/asm/cputype.h).
struct ArmCore {
  const char* implementer;
  const char* part;
  const char* name;
};
constexpr std::array kArmCores{
    ArmCore{"0x41", "0xd0c", "Arm Neoverse-N1"},   ArmCore{"0x41", "0xd40", "Arm Neoverse-V1"},
    ArmCore{"0x41", "0xd49", "Arm Neoverse-N2"},   ArmCore{"0x41", "0xd4f", "Arm Neoverse-V2"},
    ArmCore{"0x41", "0xd83", "Arm Neoverse-V3AE"}, ArmCore{"0x41", "0xd84", "Arm Neoverse-V3"},
    ArmCore{"0x41", "0xd8e", "Arm Neoverse-N3"},   ArmCore{"0x48", "0xd01", "HiSilicon TSV110"},
    ArmCore{"0xc0", "0xac3", "Ampere-1"},          ArmCore{"0xc0", "0xac4", "Ampere-1a"}};

std::optional<std::string> field(const std::map<std::string, std::string>& fields,
                                 const std::string& name) {
  const auto found = fields.find(name);
  return found == fields.end() ? std::nullopt : std::optional(found->second);
}

std::optional<std::string> model(const std::map<std::string, std::string>& cpu) {
  if (const auto name = field(cpu, "model name")) return name;
  const auto implementer = field(cpu, "CPU implementer"), part = field(cpu, "CPU part");
  if (!implementer || !part) return std::nullopt;
  for (const ArmCore& core : kArmCores) {
    if (*implementer == core.implementer && *part == core.part) return core.name;
  }
  return fmt::format("Arm implementer {} part {}", *implementer, *part);
}

constexpr std::array<std::string_view, 20> kFeatures{
    "avx2",        "fma",      "avx512f",  "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "avx_vnni", "amx_tile", "amx_bf16", "amx_int8", "asimd",       "asimdhp",
    "asimddp",     "sve",      "sve2",     "bf16",     "i8mm",     "svebf16"};

std::string features(const std::map<std::string, std::string>& cpu) {
  const auto flags = field(cpu, "flags"), arm = field(cpu, "Features");
  const auto have = words(flags ? *flags : arm.value_or(""));
  std::vector<std::string_view> out;
  for (const std::string_view wanted : kFeatures) {
    if (std::find(have.begin(), have.end(), wanted) != have.end()) out.push_back(wanted);
  }
  return fmt::format("{}", fmt::join(out, " "));
}

std::vector<int> online(const FsRoot& fs) {
  return number_list(fs.text(kCpus + "online").value_or(""));
}

// Returns into how many different sets a list file such as topology/thread_siblings_list divides
// the processors. Does not read the file of a processor that is in a known set.
std::optional<int64_t> count_sets(const FsRoot& fs, const std::vector<int>& cpus,
                                  const std::string& file) {
  std::set<int> seen;
  int64_t sets = 0;
  for (const int cpu : cpus) {
    if (seen.contains(cpu)) continue;
    const auto text = fs.text(cpu_path(cpu, file));
    if (!text) return std::nullopt;
    for (const int member : number_list(*text)) seen.insert(member);
    ++sets;
  }
  return sets == 0 ? std::nullopt : std::optional(sets);
}

void add_topology(const FsRoot& fs, Part& part) {
  const std::vector<int> cpus = online(fs);
  const auto cores = count_sets(fs, cpus, "topology/thread_siblings_list");
  const auto sockets = count_sets(fs, cpus, "topology/core_siblings_list");
  if (!cpus.empty()) part.attributes["threads"] = static_cast<int64_t>(cpus.size());
  if (cores) part.attributes["cores"] = *cores;
  if (sockets) part.attributes["sockets"] = *sockets;
  if (cores) part.attributes["smt"] = static_cast<int64_t>(cpus.size()) > *cores;
}

// Returns the governor, usually one. If processors differ, returns all names, and that is a
// finding.
std::optional<std::string> governor(const FsRoot& fs) {
  std::set<std::string> names;
  for (const std::string& policy : fs.entries(kCpus + "cpufreq")) {
    if (!policy.starts_with("policy")) continue;
    if (const auto name = fs.text(kCpus + "cpufreq/" + policy + "/scaling_governor"))
      names.insert(*name);
  }
  if (names.empty()) return std::nullopt;
  return fmt::format("{}", fmt::join(names, " "));
}

void add_frequency(const FsRoot& fs, Part& part) {
  put_text(part, "governor", governor(fs));
  if (!part.attributes.contains("governor"))
    part.unavailable["governor"] = said("inventory.no_scaling");
  put_file(part, "frequency_driver", fs, kCpus + "cpufreq/policy0/scaling_driver");
  put_number_file(part, "min_hertz", fs, kCpus + "cpufreq/policy0/cpuinfo_min_freq", 1000);
  put_number_file(part, "max_hertz", fs, kCpus + "cpufreq/policy0/cpuinfo_max_freq", 1000);
  if (const auto boost = fs.integer(kCpus + "cpufreq/boost"))
    part.attributes["boost"] = *boost != 0;
  if (const auto off = fs.integer(kCpus + "intel_pstate/no_turbo"))
    part.attributes["boost"] = *off == 0;
}

}  // namespace

std::vector<Part> cpu_parts(const FsRoot& fs) {
  const auto cpu = first_processor(fs);
  Part part{.kind = "cpu", .id = "0"};
  put_text(part, "model", model(cpu));
  put_text(part, "vendor", field(cpu, "vendor_id"));
  put_text(part, "microcode", field(cpu, "microcode"));
  put_text(part, "features", features(cpu));
  add_topology(fs, part);
  add_frequency(fs, part);
  if (part.attributes.empty()) return {};
  return {part};
}

std::vector<Part> cache_parts(const FsRoot& fs) {
  const std::vector<int> cpus = online(fs);
  if (cpus.empty()) return {};
  std::vector<Part> out;
  const std::string base = cpu_path(cpus.front(), "cache");
  for (const std::string& index : fs.entries(base)) {
    if (!index.starts_with("index")) continue;
    const std::string dir = base + "/" + index + "/";
    const auto level = fs.integer(dir + "level");
    const auto type = fs.text(dir + "type");
    if (!level || !type) continue;
    const char* suffix = *type == "Data" ? "d" : *type == "Instruction" ? "i" : "";
    Part part{.kind = "cache", .id = fmt::format("L{}{}", *level, suffix)};
    if (const auto size = parse_size(fs.text(dir + "size").value_or("")))
      part.attributes["size_bytes"] = *size;
    put_number_file(part, "line_bytes", fs, dir + "coherency_line_size");
    const auto shared = number_list(fs.text(dir + "shared_cpu_list").value_or(""));
    if (!shared.empty()) part.attributes["shared_by_threads"] = static_cast<int64_t>(shared.size());
    if (const auto n = count_sets(fs, cpus, "cache/" + index + "/shared_cpu_list"))
      part.attributes["instances"] = *n;
    out.push_back(std::move(part));
  }
  return out;
}

}  // namespace cb::inventory
