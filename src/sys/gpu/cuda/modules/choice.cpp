#include "sys/gpu/cuda/modules/choice.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sys/gpu/cuda/modules/library.h"
#include "sys/gpu/cuda_runtime.h"

namespace cb::cuda {
namespace {

const Modules& modules() {
  static const Modules found = find_modules();
  return found;
}

std::vector<const Module*> modules_for_driver() {
  const int version = driver().version;
  std::vector<const Module*> out;
  for (const Module& module : modules().found) {
    if (module.runs_on_driver(version)) out.push_back(&module);
  }
  return out;
}

// "libclusterbench_cuda13.so (CUDA 13.0, driver 580 or newer)" for each that is there.
std::vector<Said> what_each_needs() {
  std::vector<Said> out;
  for (const Module& module : modules().found)
    out.push_back(said("gpu.module_needs", module.path, version_text(module.table->runtime),
                       least_driver(module.major())));
  return out;
}

// The steps that are left with a driver that is older than every module.
Said driver_too_old() {
  const Module& oldest = modules().found.back();
  std::string package = version_text(oldest.table->runtime);
  std::ranges::replace(package, '.', '-');
  return said(oldest.major() > 11 ? "gpu.module_driver_old" : "gpu.module_driver_oldest",
              version_text(driver().version), said_list(what_each_needs()),
              least_driver(oldest.major()), package, version_text(oldest.table->runtime));
}

// Why files that are there cannot be used.
Said unusable() {
  std::vector<Said> out;
  for (const UnusableModule& file : modules().unusable) out.push_back(file.why);
  return said_list(out);
}

Said unusable_with_steps() {
  std::vector<Said> out;
  for (const UnusableModule& file : modules().unusable)
    out.push_back(said("gpu.module_step", file.why, file.step));
  return said_list(out);
}

// Adds the files that lie there and are not used, so that a damaged one is seen.
Said with_unusable(const Said& reason) {
  if (modules().unusable.empty()) return reason;
  return said("gpu.module_beside", reason, unusable_with_steps());
}

Said why_no_driver() {
  if (driver().opens) return said("gpu.module_driver_unfit", driver().reason);
  if (!named_driver().empty()) return said("gpu.module_named_driver", driver().reason);
  return said("gpu.module_no_libcuda", driver().reason);
}

Said why_no_module() {
  if (driver().version == 0) return why_no_driver();
  if (!modules().found.empty()) return with_unusable(driver_too_old());
  if (!modules().unusable.empty()) return unusable_with_steps();
  return said("gpu.module_none", fmt::format("{}", fmt::join(modules().folders, ", ")));
}

ModuleChoice choice_of(const Module& module, const Said& reason) {
  return {driver().version, module.table->runtime, module.path, with_unusable(reason), unusable()};
}

ModuleChoice no_choice() { return {driver().version, 0, "", why_no_module(), unusable()}; }

Said newest(const Module& module) {
  return said("gpu.module_newest", module.file(), version_text(module.table->runtime),
              version_text(driver().version));
}

// The compute capabilities of the devices that the module's runtime sees; none if it does not
// start.
std::set<int> capabilities_seen_by(const Module& module) {
  std::set<int> out;
  int count = 0;
  if (module.table->GetDeviceCount(&count) != 0) count = 0;
  for (int i = 0; i < count; ++i) {
    kernels::CudaDevice device{};
    if (module.table->describe_device(&device, i) == 0)
      out.insert(device.major * 10 + device.minor);
  }
  module.table->GetLastError();  // clears what went wrong: the cases meet it again and say it
  return out;
}

bool covers(const Module& module, const std::set<int>& capabilities) {
  return std::ranges::all_of(capabilities, [&](int one) {
    return module.has_code_for(one) || module.has_ptx_for(one, driver().version);
  });
}

struct InUse {
  const Module* module = nullptr;
  ModuleChoice choice;
};

Said why_this(const Module& module, bool is_newest, const std::set<int>& capabilities) {
  const Said reason =
      is_newest ? newest(module)
                : said("gpu.module_has_code", module.file(), version_text(module.table->runtime),
                       version_text(driver().version));
  for (const int capability : capabilities) {
    if (!module.has_code_for(capability) && module.has_ptx_for(capability, driver().version))
      return said("gpu.module_ptx", reason, fmt::format("{}.{}", capability / 10, capability % 10));
  }
  return reason;
}

// The newest that the driver runs and that has code for the devices. If none has, the newest: its
// cases say what is lacking.
InUse choose() {
  const auto fitting = modules_for_driver();
  if (fitting.empty()) return {nullptr, no_choice()};
  const std::set<int> capabilities = capabilities_seen_by(*fitting.front());
  const auto good = std::ranges::find_if(
      fitting, [&](const Module* module) { return covers(*module, capabilities); });
  const Module& module = good == fitting.end() ? *fitting.front() : **good;
  const bool is_newest = &module == fitting.front();
  return {&module, choice_of(module, why_this(module, is_newest, capabilities))};
}

const InUse& in_use() {
  static const InUse chosen = choose();
  return chosen;
}

}  // namespace

bool uses_modules() { return true; }

std::optional<ModuleChoice> module_for_driver() {
  const auto fitting = modules_for_driver();
  if (fitting.empty()) return no_choice();
  return choice_of(*fitting.front(), newest(*fitting.front()));
}

std::optional<ModuleChoice> module_in_use() { return in_use().choice; }

const kernels::CudaTable* table_in_use() {
  return in_use().module == nullptr ? nullptr : in_use().module->table;
}

}  // namespace cb::cuda
