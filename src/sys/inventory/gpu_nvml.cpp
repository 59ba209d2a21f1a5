// What only NVML knows about GPUs: settings, limits, links, how they reach each other.
#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "core/error.h"
#include "core/messages/mentions.h"
#include "sys/gpu/nvml.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/inventory/pci.h"
#include "sys/os/deadline_call.h"
#include "sys/os/dl_trial.h"

namespace cb::inventory {
namespace {

constexpr double kPatienceSeconds = 20;
constexpr const char* kNoAddress = "nvml ";  // begins the id of a GPU whose address is not told

struct Described {
  std::vector<Part> parts;
  Said absent;
};

Described ask_nvml() {
  const auto opened = nvml::open();
  if (const auto* absent = std::get_if<nvml::Absent>(&opened)) return {{}, absent->reason};
  const auto& library = std::get<nvml::Library>(opened);
  const std::vector<nvml::Gpu> gpus = library.gpus();
  const nvml::Topology topology = library.topology(gpus);
  const std::string driver = library.driver_version();
  Described out;
  for (size_t i = 0; i < gpus.size(); ++i) {
    Part part{.kind = "gpu", .id = gpus[i].pci_address};
    if (part.id.empty()) part.id = fmt::format("{}{}", kNoAddress, gpus[i].index);
    library.describe(gpus[i], part);
    if (!gpus[i].no_address.empty()) part.unavailable["nvml"] = gpus[i].no_address;
    if (!driver.empty()) part.attributes["driver_version"] = driver;
    part.attributes["topology"] = fmt::format("{}", fmt::join(topology[i], " "));
    out.parts.push_back(std::move(part));
  }
  return out;
}

// NVML's values replace those from PCI, and add to them.
void merge(Part& into, const Part& from) {
  for (const auto& [name, value] : from.attributes) into.attributes[name] = value;
  for (const auto& [name, why] : from.unavailable) {
    if (!into.attributes.contains(name)) into.unavailable[name] = why;
  }
  if (into.attributes.contains("driver_version")) into.unavailable.erase("driver_version");
}

std::map<std::string, std::string> driver_fields(const FsRoot& fs, const Part& gpu) {
  return colon_fields(fs.text("/proc/driver/nvidia/gpus/" + gpu.id + "/information").value_or(""));
}

// Why the GPU is for virtual machines only; empty if it is not.
Said why_for_machines(const FsRoot& fs, const Part& gpu) {
  if (fs.exists(pci_path(gpu.id, "physfn"))) return said("nvml.virtual_function");
  const std::string driver = text_of(&gpu, "kernel_driver").value_or("");
  const bool keeps = driver == "pci-stub" || driver.find("vfio") != std::string::npos;
  return keeps ? said("nvml.for_machines", driver) : Said();
}

// Why NVML is not meant to list the GPU; empty if it may be.
Said why_not_nvmls(const FsRoot& fs, const Part& gpu) {
  const Said machines = why_for_machines(fs, gpu);
  if (!machines.empty()) return machines;
  const auto driver = text_of(&gpu, "kernel_driver");
  if (driver && *driver != "nvidia") return said("nvml.other_driver", *driver);
  const auto facts = driver_fields(fs, gpu);
  const auto excluded = facts.find("GPU Excluded");
  return excluded != facts.end() && excluded->second == "Yes" ? said("nvml.excluded") : Said();
}

// Where this process may open its device file, NVML has to list a GPU. A container or a job gets
// the files of some GPUs, and its /sys shows all. access() heeds the cgroup's rules too, and does
// not start a broken GPU, as opening the file would.
Said why_not_listed(const FsRoot& fs, const Part& gpu) {
  const auto facts = driver_fields(fs, gpu);
  const auto minor = facts.find("Device Minor");
  if (minor == facts.end()) return said("nvml.not_given");
  const std::string file = "/dev/nvidia" + minor->second;
  if (::access(fs.resolve(file).c_str(), R_OK | W_OK) != 0) return said("nvml.not_given");
  return said("nvml.unlisted", file);
}

// What NVML says of the GPUs of which it tells no address, for those of which PCI alone has said
// something. NVML's order is that of the addresses. If there are more of the latter, some are not
// NVML's, and which these are is not known where one of its own is lost.
void add_those_without_address(const FsRoot& fs, std::vector<Part>& gpus,
                               const std::vector<size_t>& silent,
                               const std::vector<const Part*>& told) {
  if (silent.size() > told.size()) {
    const auto lost = std::ranges::find_if(
        told, [](const Part* part) { return part->unavailable.contains("nvml"); });
    for (const size_t i : silent)
      gpus[i].unavailable["nvml"] = lost == told.end()
                                        ? why_not_listed(fs, gpus[i])
                                        : said("nvml.may_be_lost", (*lost)->unavailable.at("nvml"));
    return;
  }
  for (size_t i = 0; i < silent.size(); ++i) merge(gpus[silent[i]], *told[i]);
  for (size_t i = silent.size(); i < told.size(); ++i) gpus.push_back(*told[i]);
}

}  // namespace

void add_told_by_nvml(const FsRoot& fs, std::vector<Part>& gpus, const std::vector<Part>& told) {
  std::vector<size_t> silent(gpus.size());
  std::iota(silent.begin(), silent.end(), size_t{0});
  std::vector<const Part*> without_address;
  for (const Part& part : told) {
    if (part.id.starts_with(kNoAddress)) {
      without_address.push_back(&part);
      continue;
    }
    const auto found = std::ranges::find(gpus, part.id, &Part::id);
    if (found == gpus.end()) {
      gpus.push_back(part);  // a container may hide PCI
      continue;
    }
    std::erase(silent, static_cast<size_t>(found - gpus.begin()));
    merge(*found, part);
  }
  std::erase_if(silent, [&](size_t i) {
    const Said why = why_not_nvmls(fs, gpus[i]);
    if (!why.empty()) gpus[i].unavailable["nvml"] = why;
    return !why.empty();
  });
  add_those_without_address(fs, gpus, silent, without_address);
}

void add_nvml_facts(const FsRoot& fs, std::vector<Part>& gpus) {
  const auto answer = call_with_deadline<Described>(kPatienceSeconds, ask_nvml);
  const Said hangs = said("nvml.hangs", nvml::last_call(), kPatienceSeconds);
  const Said absent = answer ? answer->absent : hangs;
  if (absent.empty()) return add_told_by_nvml(fs, gpus, answer->parts);
  // Without PCI nothing is known of the GPUs of a library that is there, or that somebody has
  // named.
  const bool is_named = mentions(absent.message(), {"dl.is_set"});
  if (gpus.empty() && (!answer || is_named || library_trial::is_unsafe(absent)))
    throw Error(absent);
  for (Part& gpu : gpus) {
    const Said machines = why_for_machines(fs, gpu);
    gpu.unavailable["nvml"] = machines.empty() ? absent : machines;
  }
}

}  // namespace cb::inventory
