// The driver's functions that the runtime hands out by name: those with which a NIC gets at a
// device's memory.
#include <cstdint>
#include <cstring>

#include <cuda.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fake_cuda/devices.h"

namespace {

bool whole_pages(uintptr_t value) {
  return value % static_cast<uintptr_t>(sysconf(_SC_PAGESIZE)) == 0;
}

// As cuda.h 13 has it: only for memory of a device, and the value is a flag.
CUresult set_attribute(const void* value, CUpointer_attribute attribute, CUdeviceptr pointer) {
  const fake::Block* block = fake::block_of(reinterpret_cast<const void*>(pointer));
  if (value == nullptr || block == nullptr || block->device < 0) return CUDA_ERROR_INVALID_VALUE;
  if (attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

// As cuda.h 13 has it: address and size are of whole pages of the host. The descriptor is that of a
// file, which no driver of a NIC takes: a real export needs a kernel module.
CUresult export_range(void* handle, CUdeviceptr pointer, size_t bytes, CUmemRangeHandleType type,
                      unsigned long long) {
  const fake::Block* block = fake::block_of(reinterpret_cast<const void*>(pointer));
  if (block == nullptr || block->device < 0 || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD ||
      !whole_pages(pointer) || !whole_pages(bytes))
    return CUDA_ERROR_INVALID_VALUE;
  if (fake::number("dma_buf", block->device, 0) == 0) return CUDA_ERROR_NOT_SUPPORTED;
  const int file = memfd_create("stand-in dma-buf", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) return CUDA_ERROR_OUT_OF_MEMORY;
  std::memcpy(handle, &file, sizeof file);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** entry, unsigned,
                                                        unsigned long long,
                                                        cudaDriverEntryPointQueryResult* found) {
  *entry = nullptr;
  if (std::strcmp(name, "cuPointerSetAttribute") == 0)
    *entry = reinterpret_cast<void*>(&set_attribute);
  if (std::strcmp(name, "cuMemGetHandleForAddressRange") == 0)
    *entry = reinterpret_cast<void*>(&export_range);
  *found = *entry != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
