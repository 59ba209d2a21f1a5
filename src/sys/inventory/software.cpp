// Versions of the kernel modules and libraries that decide how fast a cluster is. Libraries are
// found as the dynamic linker would find them, without opening any: a vendor library takes long to
// load, and every measurement collects this.
#include <array>
#include <cctype>
#include <cstdlib>
#include <set>

#include <gnu/libc-version.h>

#include "sys/inventory/collect.h"
#include "sys/inventory/fields.h"
#include "sys/mpi.h"

namespace cb::inventory {
namespace {

constexpr std::array kModules{"nvidia",    "nvidia_uvm", "nvidia_peermem", "nvidia_fs", "gdrdrv",
                              "mlx5_core", "mlx5_ib",    "ib_core",        "ib_uverbs", "efa",
                              "bnxt_re",   "irdma",      "erdma",          "rdma_rxe",  "nvme",
                              "lustre",    "mmfs26",     "beegfs",         "xpmem",     "knem"};

struct Library {
  const char* id;
  const char* soname;  // up to ".so"
};
constexpr std::array kLibraries{Library{"blis", "libblis.so"},
                                Library{"cublaslt", "libcublasLt.so"},
                                Library{"cuda", "libcuda.so"},
                                Library{"cudart", "libcudart.so"},
                                Library{"cufile", "libcufile.so"},
                                Library{"fabric", "libfabric.so"},
                                Library{"ibverbs", "libibverbs.so"},
                                Library{"mkl", "libmkl_rt.so"},
                                Library{"nccl", "libnccl.so"},
                                Library{"nccl-net", "libnccl-net.so"},
                                Library{"nvml", "libnvidia-ml.so"},
                                Library{"onednn", "libdnnl.so"},
                                Library{"openblas", "libopenblas.so"},
                                Library{"rdmacm", "librdmacm.so"},
                                Library{"ucx", "libucp.so"}};

std::optional<std::string> library_id(std::string_view file) {
  for (const Library& library : kLibraries) {
    const std::string_view soname = library.soname;
    if (file.starts_with(soname) && (file.size() == soname.size() || file[soname.size()] == '.'))
      return library.id;
  }
  return std::nullopt;
}

// The version in the name of the file that the links lead to: libnccl.so.2 → libnccl.so.2.28.9;
// in Debian's libopenblas.so.0 → libopenblas-r0.3.21.so it stands before the ending.
std::optional<std::string> file_version(const FsRoot& fs, const std::string& path) {
  std::error_code error;
  const auto real = std::filesystem::canonical(fs.resolve(path), error);
  const std::string name = error ? path.substr(path.rfind('/') + 1) : real.filename().string();
  const size_t ending = name.find(".so");
  if (ending == std::string::npos) return std::nullopt;
  if (ending + 4 < name.size()) return name.substr(ending + 4);
  size_t from = ending;
  while (from > 0 &&
         (std::isdigit(static_cast<unsigned char>(name[from - 1])) != 0 || name[from - 1] == '.'))
    --from;
  return from == ending ? std::nullopt : std::optional(name.substr(from, ending - from));
}

// Absolute paths in the linker's cache, which keeps its strings NUL-terminated at its end
// (glibc elf/cache.c): no need to know the tables in front of them.
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

// LD_LIBRARY_PATH goes before the cache. It is this process's, so only for the machine itself.
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
    out.push_back(library_part("mpi", mpi::library_name()));
  }
  std::vector<std::string> paths = path_candidates(fs);
  const std::vector<std::string> cached = cached_paths(fs);
  paths.insert(paths.end(), cached.begin(), cached.end());
  std::map<std::string, Part> found;  // the first of each wins, as for the linker
  for (const std::string& path : paths) {
    const auto id = library_id(std::string_view(path).substr(path.rfind('/') + 1));
    if (!id || found.contains(*id)) continue;
    Part part{.kind = "library", .id = *id};
    put_text(part, "version", file_version(fs, path));
    part.attributes["path"] = path;
    found.emplace(*id, std::move(part));
  }
  for (auto& [id, part] : found) out.push_back(std::move(part));
  return out;
}

}  // namespace cb::inventory
