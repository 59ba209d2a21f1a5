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

}  // namespace cb::cublaslt
