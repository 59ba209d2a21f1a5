// Launches run at once, and the few functions of the runtime that launchers call: for tests of
// kernels alone.
#include <cstring>
#include <utility>

#include "tests/device_executor/executor.h"

namespace device_executor {
namespace {

Settings& current_settings() {
  static Settings settings;
  return settings;
}

}  // namespace

WithSettings::WithSettings(const Settings& settings)
    : before_(std::exchange(current_settings(), settings)) {}
WithSettings::~WithSettings() { current_settings() = before_; }

int submit(Launch launch, void*) { return run(launch, current_settings()); }

}  // namespace device_executor

extern "C" {

cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr, int) {
  *value = 2;  // multiprocessors
  return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int,
                                                          std::size_t) {
  *blocks = 1;
  return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, const void*) { return cudaSuccess; }
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  std::memset(to, value, bytes);
  return cudaSuccess;
}

}  // extern "C"
