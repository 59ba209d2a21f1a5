#include "sys/gpu/cuda_runtime.h"

#include <cstdlib>

#include <fmt/format.h>

#include "sys/os/dl.h"

namespace cb::cuda {
namespace {

constexpr const char* kNamedDriver = "CLUSTERBENCH_CUDA_LIBRARY";

Driver ask_driver() {
  static const DynamicLibrary library = DynamicLibrary::open(kNamedDriver, {"libcuda.so.1"});
  if (!library.present()) return {0, library.why()};
  auto* const get = library.symbol<int(int*)>("cuDriverGetVersion");
  if (get == nullptr) return {0, said("gpu.driver_not_one", library.path()), true};
  int version = 0;
  const int code = get(&version);
  if (code != 0 || version <= 0)  // a Toolkit's stub
    return {0, said("gpu.driver_no_version", library.path(), code), true};
  return {version, {}, true};
}

}  // namespace

const Driver& driver() {
  static const Driver asked = ask_driver();
  return asked;
}

std::string named_driver() {
  const char* file = std::getenv(kNamedDriver);
  return file == nullptr ? "" : file;
}

std::string version_text(int version) {
  return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
}

const char* least_driver(int runtime_major) {
  if (runtime_major < 12) return "450";
  return runtime_major == 12 ? "525" : "580";
}

}  // namespace cb::cuda
