// Versions of the kernel modules and libraries that decide how fast a cluster is. Libraries are
// found as the dynamic linker would find them, but not opened: a vendor library loads slowly, and
// every measurement collects this.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>

#include <gnu/libc-version.h>

#include "sys/gpu/cuda_runtime.h"
#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/mpi/mpi.h"
#include "sys/os/deadline_call.h"
#include "sys/os/dl_trial.h"

namespace cb::inventory {
namespace {

constexpr std::array kModules{"nvidia",    "nvidia_uvm", "nvidia_peermem", "nvidia_fs", "gdrdrv",
                              "mlx5_core", "mlx5_ib",    "ib_core",        "ib_uverbs", "efa",
                              "bnxt_re",   "irdma",      "erdma",          "rdma_rxe",  "nvme",
                              "lustre",    "mmfs26",     "beegfs",         "xpmem",     "knem"};

struct Library {
  const char* id;
  const char* soname;  // the name up to ".so"
  // True if the digits in the file's name are the release; libtool's digits count interfaces.
  bool release_in_name;
};
constexpr std::array kLibraries{
    Library{"blis", "libblis.so", false},        Library{"cublaslt", "libcublasLt.so", true},
    Library{"cuda", "libcuda.so", true},         Library{"cudart", "libcudart.so", true},
    Library{"cufile", "libcufile.so", true},     Library{"fabric", "libfabric.so", false},
    Library{"ibverbs", "libibverbs.so", true},   Library{"mkl", "libmkl_rt.so", false},
    Library{"nccl", "libnccl.so", true},         Library{"nccl-net", "libnccl-net.so", false},
    Library{"nvml", "libnvidia-ml.so", true},    Library{"onednn", "libdnnl.so", true},
    Library{"openblas", "libopenblas.so", true}, Library{"rdmacm", "librdmacm.so", true},
    Library{"ucx", "libucp.so", false}};

const Library* library_of(std::string_view file) {
  for (const Library& library : kLibraries) {
    const std::string_view soname = library.soname;
    if (file.starts_with(soname) && (file.size() == soname.size() || file[soname.size()] == '.'))
      return &library;
  }
  return nullptr;
}

// Returns the name of the file that the links lead to: libnccl.so.2 → libnccl.so.2.28.9.
std::string real_name(const FsRoot& fs, const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(fs.resolve(path), error);
  return error ? path.substr(path.rfind('/') + 1) : real.filename().string();
}

// "libnccl.so.2.28.9" → "2.28.9"; Debian's "libopenblasp-r0.3.21.so" has it before the ending. A
// single number is the interface's number, not a release.
std::optional<std::string> release(const std::string& name) {
  const size_t ending = name.find(".so");
  if (ending == std::string::npos) return std::nullopt;
  std::string version = name.substr(std::min(ending + 4, name.size()));
  if (version.empty()) {
    const size_t before = name.find_last_not_of("0123456789.", ending - 1);
    version = name.substr(before + 1, ending - before - 1);
  }
  return version.find('.') == std::string::npos ? std::nullopt : std::optional(version);
}

// Returns the absolute paths in the linker's cache. Its strings are NUL-terminated and at its end
// (glibc elf/cache.c), so the tables in front of them need not be parsed.
std::vector<std::string> cached_paths(const FsRoot& fs) {
  std::vector<std::string> out;
  const std::string cache = fs.text("/etc/ld.so.cache").value_or("");
  for (size_t from = 0; from < cache.size();) {
    const size_t end = std::min(cache.find('\0', from), cache.size());
    if (cache[from] == '/') out.push_back(cache.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

// LD_LIBRARY_PATH comes before the cache. It belongs to this process, so it is read only on the
// machine itself.
std::vector<std::string> path_candidates(const FsRoot& fs) {
  std::vector<std::string> out;
  const char* variable = fs.is_machine() ? std::getenv("LD_LIBRARY_PATH") : nullptr;
  const std::string directories = variable == nullptr ? "" : variable;
  for (size_t from = 0; from < directories.size();) {
    const size_t end = std::min(directories.find(':', from), directories.size());
    const std::string directory = directories.substr(from, end - from);
    if (directory.starts_with('/')) {
      for (const std::string& name : fs.entries(directory)) out.push_back(directory + "/" + name);
    }
    from = end + 1;
  }
  return out;
}

Part library_part(const char* id, const std::string& version) {
  return {.kind = "library", .id = id, .attributes = {{"version", version}}};
}

// A host without MPI says nothing of it.
void add_mpi(std::vector<Part>& parts) {
  if (const std::string name = mpi::library_name(); name != "none")
    parts.push_back(library_part("mpi", name));
  else if (library_trial::is_unsafe(mpi::why_no_library()))
    parts.push_back(
        {.kind = "library", .id = "mpi", .unavailable = {{"version", mpi::why_no_library()}}});
}

// For the driver, and again for the modules' files.
constexpr double kPatience = library_trial::kPatience;

// Nothing where the driver or a file of the modules hangs: `part` then says which.
std::optional<cuda::ModuleChoice> module_in_time(Part& part) {
  const auto driver = call_with_deadline<int>(kPatience, [] { return cuda::driver().version; });
  if (!driver) {
    const std::string named = cuda::named_driver();
    part.unavailable["module"] =
        said("inventory.driver_hangs", named.empty() ? "libcuda.so.1" : named, kPatience);
    return std::nullopt;
  }
  const auto chosen =
      call_with_deadline<std::optional<cuda::ModuleChoice>>(kPatience, cuda::module_for_driver);
  if (chosen) return *chosen;
  if (*driver > 0) part.attributes["driver"] = cuda::version_text(*driver);
  part.unavailable["module"] = said("inventory.module_slow", kPatience);
  return std::nullopt;
}

}  // namespace

std::vector<Part> driver_parts(const FsRoot& fs) {
  std::vector<Part> out;
  for (const char* module : kModules) {
    const std::string dir = std::string("/sys/module/") + module + "/";
    if (!fs.exists(dir)) continue;
    Part part{.kind = "driver", .id = module};
    put_file(part, "version", fs, dir + "version");
    put_file(part, "source_version", fs, dir + "srcversion");
    out.push_back(std::move(part));
  }
  return out;
}

std::vector<Part> library_parts(const FsRoot& fs) {
  std::vector<Part> out;
  if (fs.is_machine()) {
    out.push_back(library_part("glibc", gnu_get_libc_version()));
    add_mpi(out);
  }
  std::vector<std::string> paths = path_candidates(fs);
  const std::vector<std::string> cached = cached_paths(fs);
  paths.insert(paths.end(), cached.begin(), cached.end());
  std::map<std::string, Part> found;  // the first path of each library wins, as in the linker
  for (const std::string& path : paths) {
    const Library* library = library_of(std::string_view(path).substr(path.rfind('/') + 1));
    if (library == nullptr || found.contains(library->id)) continue;
    Part part{.kind = "library", .id = library->id};
    const std::string name = real_name(fs, path);
    part.attributes["file"] = name;
    part.attributes["path"] = path;
    if (library->release_in_name) put_text(part, "version", release(name));
    found.emplace(library->id, std::move(part));
  }
  for (auto& [id, part] : found) out.push_back(std::move(part));
  return out;
}

std::vector<Part> cuda_parts(const FsRoot& fs) {
  if (!fs.is_machine()) return {};
  if (!cuda::uses_modules()) return {};
  Part part{.kind = "cuda", .id = "module"};
  const auto module = module_in_time(part);
  if (!module) return {part};
  if (module->driver > 0) part.attributes["driver"] = cuda::version_text(module->driver);
  if (module->runtime == 0) {
    part.unavailable["module"] = module->reason;
    return {part};
  }
  part.attributes["runtime"] = cuda::version_text(module->runtime);
  part.attributes["path"] = module->path;
  part.attributes["module"] = module->reason.text();
  return {part};
}

}  // namespace cb::inventory
