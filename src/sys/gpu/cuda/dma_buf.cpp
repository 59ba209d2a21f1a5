#include "sys/gpu/cuda/dma_buf.h"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include "core/error.h"

namespace cb::cuda {
namespace {

// Gets the driver's functions through the runtime, which opens the driver: nothing is linked
// against libcuda.
template <class Function>
Function driver_function(const char* name, unsigned version) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &found, version, cudaEnableDefault, &result);
#else  // the runtime's own version, newer than any asked for here
  static_cast<void>(version);
  const cudaError_t code = cudaGetDriverEntryPoint(name, &found, cudaEnableDefault, &result);
#endif
  if (code != cudaSuccess || result != cudaDriverEntryPointSuccess || found == nullptr)
    throw Error(fmt::format("the CUDA driver has no {}", name));
  return reinterpret_cast<Function>(found);
}

}  // namespace

DmaBuf::DmaBuf(void* data, size_t bytes) {
  const auto export_range = driver_function<decltype(&cuMemGetHandleForAddressRange)>(
      "cuMemGetHandleForAddressRange", 11070);
  const CUresult code = export_range(&descriptor_, reinterpret_cast<CUdeviceptr>(data), bytes,
                                     CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
  if (code != CUDA_SUCCESS)
    throw Error(
        fmt::format("cuMemGetHandleForAddressRange: CUDA error {}", static_cast<int>(code)));
}

DmaBuf::~DmaBuf() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void make_copies_synchronous(void* data) {
  const auto set = driver_function<decltype(&cuPointerSetAttribute)>("cuPointerSetAttribute", 6000);
  const unsigned on = 1;
  const CUresult code =
      set(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, reinterpret_cast<CUdeviceptr>(data));
  if (code != CUDA_SUCCESS)
    throw Error(fmt::format("cuPointerSetAttribute: CUDA error {}", static_cast<int>(code)));
}

}  // namespace cb::cuda
