// Grid-stride loops over 16-byte words, four in flight a thread; blocks fill the device once, since
// a second wave would leave a tail.
#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/stream.h"

namespace cb::kernels {
namespace {

constexpr unsigned threads_per_block = 512;
constexpr int blocks_per_sm = 4;  // 2,048 threads, all that an SM holds
constexpr int in_flight = 4;
using Index = std::uint64_t;
using Wide = unsigned long long;

__device__ Index first_index() { return Index{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ Index stride() { return Index{gridDim.x} * blockDim.x; }

__global__ void __launch_bounds__(threads_per_block)
    copy(uint4* __restrict__ to, const uint4* __restrict__ from, Index words) {
  Index i = first_index();
  for (; i + (in_flight - 1) * stride() < words; i += in_flight * stride()) {
    uint4 held[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) held[j] = from[i + j * stride()];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) to[i + j * stride()] = held[j];
  }
  for (; i < words; i += stride()) to[i] = from[i];
}

__device__ double2 fused(double2 b, double2 c) {
  return {fma(triad_scalar, c.x, b.x), fma(triad_scalar, c.y, b.y)};
}

__global__ void __launch_bounds__(threads_per_block)
    triad(double2* __restrict__ a, const double2* __restrict__ b, const double2* __restrict__ c,
          Index pairs) {
  Index i = first_index();
  for (; i + (in_flight - 1) * stride() < pairs; i += in_flight * stride()) {
    double2 held_b[in_flight], held_c[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      held_b[j] = b[i + j * stride()];
      held_c[j] = c[i + j * stride()];
    }
#pragma unroll
    for (int j = 0; j < in_flight; ++j) a[i + j * stride()] = fused(held_b[j], held_c[j]);
  }
  for (; i < pairs; i += stride()) a[i] = fused(b[i], c[i]);
}

__global__ void triad_fill(double* b, double* c, Index elements, Index seed) {
  for (Index i = first_index(); i < elements; i += stride()) {
    b[i] = triad_element(i, seed);
    c[i] = triad_element(i, seed + 1);
  }
}

__global__ void triad_check(const double* a, Index elements, Index seed, TriadResult* result) {
  Wide wrong = 0, first = ~Wide{0};
  for (Index i = first_index(); i < elements; i += stride()) {
    if (a[i] == triad_result(i, seed)) continue;
    ++wrong;
    if (i < first) first = i;
  }
  if (wrong == 0) return;
  atomicAdd(reinterpret_cast<Wide*>(&result->wrong), wrong);
  atomicMin(reinterpret_cast<Wide*>(&result->first), first);
}

__global__ void __launch_bounds__(threads_per_block)
    read(const ulonglong2* __restrict__ from, Index words, Wide* sum) {
  Wide mine = 0;
  Index i = first_index();
  for (; i + (in_flight - 1) * stride() < words; i += in_flight * stride()) {
    ulonglong2 held[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) held[j] = from[i + j * stride()];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) mine += held[j].x + held[j].y;
  }
  for (; i < words; i += stride()) mine += from[i].x + from[i].y;
  for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_down_sync(~0U, mine, lanes);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

__global__ void chase(const Index* lines, Index steps, Index* end) {
  Index at = 0;
  for (Index i = 0; i < steps; ++i) at = lines[at * (chase_line_bytes / sizeof(Index))];
  *end = at;
}

// Enough blocks to fill the current device once.
int blocks(unsigned& count) {
  int device = 0, sms = 0;
  if (auto e = cudaGetDevice(&device)) return e;
  if (auto e = cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device)) return e;
  count = static_cast<unsigned>(std::max(1, sms) * blocks_per_sm);
  return cudaSuccess;
}

}  // namespace

int launch_copy(void* to, const void* from, std::size_t bytes, void* stream) {
  if (bytes % 16 != 0) return cudaErrorInvalidValue;
  unsigned count = 0;
  if (auto e = blocks(count)) return e;
  copy<<<count, threads_per_block, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<uint4*>(to), static_cast<const uint4*>(from), bytes / 16);
  return cudaGetLastError();
}

int launch_triad(double* a, const double* b, const double* c, std::size_t elements, void* stream) {
  if (elements % 2 != 0) return cudaErrorInvalidValue;
  unsigned count = 0;
  if (auto e = blocks(count)) return e;
  triad<<<count, threads_per_block, 0, static_cast<cudaStream_t>(stream)>>>(
      reinterpret_cast<double2*>(a), reinterpret_cast<const double2*>(b),
      reinterpret_cast<const double2*>(c), elements / 2);
  return cudaGetLastError();
}

int launch_triad_fill(double* b, double* c, std::size_t elements, std::uint64_t seed,
                      void* stream) {
  unsigned count = 0;
  if (auto e = blocks(count)) return e;
  triad_fill<<<count, threads_per_block, 0, static_cast<cudaStream_t>(stream)>>>(b, c, elements,
                                                                                 seed);
  return cudaGetLastError();
}

int launch_triad_check(const double* a, std::size_t elements, std::uint64_t seed,
                       TriadResult* result, void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (auto e = cudaMemsetAsync(result, 0, sizeof *result, queue)) return e;
  if (auto e = cudaMemsetAsync(&result->first, 0xff, sizeof result->first, queue)) return e;
  unsigned count = 0;
  if (auto e = blocks(count)) return e;
  triad_check<<<count, threads_per_block, 0, queue>>>(a, elements, seed, result);
  return cudaGetLastError();
}

int launch_read(const void* from, std::size_t bytes, std::uint64_t* sum, void* stream) {
  if (bytes % 16 != 0) return cudaErrorInvalidValue;
  unsigned count = 0;
  if (auto e = blocks(count)) return e;
  read<<<count, threads_per_block, 0, static_cast<cudaStream_t>(stream)>>>(
      static_cast<const ulonglong2*>(from), bytes / 16, reinterpret_cast<Wide*>(sum));
  return cudaGetLastError();
}

int launch_chase(const void* lines, std::uint64_t steps, std::uint64_t* end, void* stream) {
  chase<<<1, 1, 0, static_cast<cudaStream_t>(stream)>>>(static_cast<const Index*>(lines), steps,
                                                        end);
  return cudaGetLastError();
}

}  // namespace cb::kernels
