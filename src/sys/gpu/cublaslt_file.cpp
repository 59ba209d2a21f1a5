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

std::string why_unfit(const DynamicLibrary& library, int driver_major) {
  if (!library.present()) return "cuBLASLt does not open: " + library.reason();
  auto* const version = library.symbol<size_t()>("cublasLtGetVersion");
  if (version == nullptr || library.symbol<void()>("cublasLtMatmul") == nullptr)
    return library.path() + " is no cuBLASLt";
  const auto major = static_cast<int>(version() / 10000);  // 130100 for 13.1.0
  if (driver_major > 0 && major > driver_major)
    return fmt::format("{} is of CUDA {}, and the driver's newest is CUDA {}", library.path(),
                       major, driver_major);
  return "";
}

}  // namespace cb::cublaslt
