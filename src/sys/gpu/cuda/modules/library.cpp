#include "sys/gpu/cuda/modules/library.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "sys/os/dl.h"

namespace cb::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kGivenModule = "CLUSTERBENCH_CUDA_MODULE";

std::vector<std::string> module_folders() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  if (failed) return {};
  const fs::path beside = program.parent_path();
  return {beside.string(), (beside.parent_path() / "lib" / "clusterbench").string()};
}

bool is_module_name(std::string_view file) {
  return file.starts_with("libclusterbench_cuda") && file.ends_with(".so");
}

std::vector<std::string> modules_in(const std::string& folder) {
  std::error_code failed;
  std::vector<std::string> out;
  for (const auto& entry : fs::directory_iterator(folder, failed)) {
    if (is_module_name(entry.path().filename().string())) out.push_back(entry.path().string());
  }
  std::ranges::sort(out);
  return out;
}

void open_module(const std::string& path, Modules& into) {
  const DynamicLibrary library = DynamicLibrary::open(kGivenModule, {path});
  if (!library.present()) {
    into.unusable.push_back(
        {said("gpu.module_shut", path, library.why()), said("gpu.module_unpack")});
    return;
  }
  auto* const get = library.symbol<kernels::CudaTableFunction>(kernels::cuda_table_symbol);
  const auto* const table = get == nullptr ? nullptr : get(kernels::cuda_table_version);
  if (table != nullptr && std::string_view(table->sources) == CB_MODULE_SOURCES) {
    into.found.push_back({path, table});
    return;
  }
  into.unusable.push_back(
      {said("gpu.module_other_version", path), said("gpu.module_of_one_release")});
}

}  // namespace

std::string Module::file() const { return path.substr(path.rfind('/') + 1); }

bool Module::has_code_for(int capability) const {
  for (const int* own = table->architectures; *own != 0; ++own) {
    // Machine code runs on later GPUs of the same generation too.
    if (*own / 10 == capability / 10 && *own <= capability) return true;
  }
  return false;
}

bool Module::has_ptx_for(int capability, int driver) const {
  return table->ptx != 0 && table->ptx <= capability && driver >= table->runtime;
}

Modules find_modules() {
  Modules out;
  const char* given = std::getenv(kGivenModule);
  if (given != nullptr && *given != '\0') {
    open_module(given, out);
    return out;
  }
  out.folders = module_folders();
  for (const std::string& folder : out.folders) {
    for (const std::string& path : modules_in(folder)) open_module(path, out);
  }
  std::ranges::stable_sort(out.found, [](const Module& a, const Module& b) {
    return a.table->runtime > b.table->runtime;
  });
  return out;
}

}  // namespace cb::cuda
