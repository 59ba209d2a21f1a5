// What kernels/*.cu call of the CUDA runtime, for the CPU: types and functions as the toolkit's
// header has them, so that one object file links with any of the two runtimes of the tests. Values
// are compared with the toolkit's where one is there (tests/fake_cuda/launches.cpp).
#pragma once

#include <math.h>

#include <cstddef>
#include <cstdint>

#include <device_executor/values.h>

// NOLINTBEGIN(*)
struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned of_x = 1, unsigned of_y = 1, unsigned of_z = 1)
      : x(of_x), y(of_y), z(of_z) {}
};

#define CB_VECTOR_OF_2(type, name, bytes) \
  struct alignas(bytes) name {            \
    type x, y;                            \
  };
#define CB_VECTOR_OF_4(type, name, bytes) \
  struct alignas(bytes) name {            \
    type x, y, z, w;                      \
  };
CB_VECTOR_OF_2(int, int2, 8)
CB_VECTOR_OF_2(unsigned, uint2, 8)
CB_VECTOR_OF_2(float, float2, 8)
CB_VECTOR_OF_2(double, double2, 16)
CB_VECTOR_OF_2(long long, longlong2, 16)
CB_VECTOR_OF_2(unsigned long long, ulonglong2, 16)
CB_VECTOR_OF_4(int, int4, 16)
CB_VECTOR_OF_4(unsigned, uint4, 16)
CB_VECTOR_OF_4(float, float4, 16)
CB_VECTOR_OF_4(unsigned short, ushort4, 8)
#undef CB_VECTOR_OF_2
#undef CB_VECTOR_OF_4

enum cudaError : int {
  cudaSuccess = device_executor::values::success,
  cudaErrorInvalidValue = device_executor::values::invalid_value,
  cudaErrorInvalidConfiguration = device_executor::values::invalid_configuration,
  cudaErrorMisalignedAddress = device_executor::values::misaligned_address,
  cudaErrorLaunchFailure = device_executor::values::launch_failure,
  cudaErrorCooperativeLaunchTooLarge = device_executor::values::cooperative_launch_too_large,
  cudaErrorNotSupported = device_executor::values::not_supported
};
typedef enum cudaError cudaError_t;
enum cudaDeviceAttr : int {
  cudaDevAttrMultiProcessorCount = device_executor::values::multiprocessor_count
};
typedef struct CUstream_st* cudaStream_t;
// As large as the toolkit's, of which the kernels read no member.
struct cudaFuncAttributes {
  unsigned char members[device_executor::values::function_attributes_bytes];
};

extern "C" {
cudaError_t cudaGetLastError();
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* kernel,
                                                          int threads, std::size_t shared_bytes);
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel);
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t stream);
}
// NOLINTEND(*)

#include <device_executor/words.h>
