#include "sys/gpu/cublaslt_file.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb::cublaslt {

DynamicLibrary open_file(int driver_major) {
  std::vector<std::string> names{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11",
                                 "libcublasLt.so", "/usr/local/cuda/lib64/libcublasLt.so"};
  const auto own = std::ranges::find(names, fmt::format("libcublasLt.so.{}", driver_major));
  if (own != names.end()) std::rotate(names.begin(), own, own + 1);
  return DynamicLibrary::open("CLUSTERBENCH_CUBLASLT_LIBRARY", names);
}

Said why_unfit(const DynamicLibrary& library, int driver_major) {
  if (!library.present()) return said("gpu.blas_not_opened", library.why());
  auto* const version = library.symbol<size_t()>("cublasLtGetVersion");
  if (version == nullptr || library.symbol<void()>("cublasLtMatmul") == nullptr)
    return said("gpu.blas_is_none", library.path());
  const auto major = static_cast<int>(version() / 10000);  // 130100 for 13.1.0
  if (driver_major > 0 && major > driver_major)
    return said("gpu.blas_too_new", library.path(), major, driver_major);
  return {};
}

}  // namespace cb::cublaslt
