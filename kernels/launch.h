// How kernels/*.cu start their kernels, and names for what a device alone has. nvcc compiles these
// files for GPUs. The tests compile the same files for the CPU and run them on an executor
// (tests/device_executor), which has the other half of this header. So a .cu file has no <<<…>>>,
// no __shared__ and no asm of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include <cuda_runtime_api.h>

#ifdef __CUDACC__

// Declares a variable that the threads of a block share. An array needs a name for its type.
#define CB_SHARED(type, name) __shared__ type name

namespace cb::kernels {

// What a launch needs besides arguments.
struct Shape {
  dim3 blocks, threads;          // of the grid, and of each block
  std::size_t shared_bytes = 0;  // of dynamic_shared(), a block
};

// Starts launch<kernel>({blocks, threads}, stream, arguments…) and returns at once, with a
// cudaError_t. More shared memory than every device gives a block must be asked for.
template <auto Kernel, typename... Arguments>
int launch(const Shape& shape, void* stream, const Arguments&... arguments) {
  if (shape.shared_bytes > 48 * 1024) {
    const cudaError_t code = cudaFuncSetAttribute(
        Kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes));
    if (code != cudaSuccess) return code;
  }
  Kernel<<<shape.blocks, shape.threads, shape.shared_bytes, static_cast<cudaStream_t>(stream)>>>(
      arguments...);
  return cudaGetLastError();
}

// Returns the shared memory of the block whose size the launch gave, aligned to 16 bytes.
template <typename T>
__device__ T* dynamic_shared() {
  extern __shared__ uint4 dynamic_shared_words[];
  return reinterpret_cast<T*>(dynamic_shared_words);
}

// Returns the hardware number of the SM on which the thread runs.
__device__ inline std::uint32_t multiprocessor() {
  std::uint32_t number = 0;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
  return number;
}

// Returns the device's clock in nanoseconds; its steps may be as long as a microsecond.
__device__ inline unsigned long long device_nanoseconds() {
  unsigned long long now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

// Loads 16 bytes that nobody writes during the launch, and that are read once: they leave the first
// cache alone, and the next bytes are brought along to the second.
__device__ inline uint4 load_once(const void* from) {
  uint4 out;
  asm volatile("ld.global.nc.L1::no_allocate.L2::256B.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(out.x), "=r"(out.y), "=r"(out.z), "=r"(out.w)
               : "l"(from));
  return out;
}

// Stores a pair that the caches need not keep.
__device__ inline void store_streamed(double2* to, double2 value) {
  asm volatile("st.global.cs.v2.f64 [%0], {%1, %2};" ::"l"(to), "d"(value.x), "d"(value.y)
               : "memory");
}

}  // namespace cb::kernels

#else
#include <device_executor/launch.h>
#endif
