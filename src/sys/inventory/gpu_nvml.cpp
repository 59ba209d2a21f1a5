// What only NVML knows about GPUs: settings, limits, links, how they reach each other.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sys/gpu/nvml.h"
#include "sys/inventory/collect.h"
#include "sys/os/deadline_call.h"

namespace cb::inventory {
namespace {

constexpr double kPatienceSeconds = 20;

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
    if (part.id.empty()) part.id = fmt::format("nvml {}", gpus[i].index);
    library.describe(gpus[i], part);
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

}  // namespace

void add_nvml_facts(std::vector<Part>& gpus) {
  const auto answer = call_with_deadline<Described>(kPatienceSeconds, ask_nvml);
  const Said hangs = said("nvml.hangs", nvml::last_call(), kPatienceSeconds);
  const Said absent = answer ? answer->absent : hangs;
  if (!absent.empty()) {
    for (Part& gpu : gpus) gpu.unavailable["nvml"] = absent;
    return;
  }
  for (const Part& told : answer->parts) {
    const auto found = std::ranges::find(gpus, told.id, &Part::id);
    if (found != gpus.end())
      merge(*found, told);
    else
      gpus.push_back(told);  // a container may hide PCI
  }
}

}  // namespace cb::inventory
