// Loops over 16-byte words. Kernels that stride have as many blocks as the device holds at once, by
// the occupancy calculator: a second wave would leave a tail.
#include <algorithm>

#include "kernels/launch.h"
#include "kernels/stream.h"
#include "kernels/together.h"

namespace cb::kernels {
namespace {

constexpr unsigned threads_per_block = 512;
constexpr int in_flight = 4;
using Index = std::uint64_t;
using Wide = unsigned long long;

__device__ Index first_index() { return Index{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ Index stride() { return Index{gridDim.x} * blockDim.x; }

__global__ void __launch_bounds__(threads_per_block)
    copy(uint4* __restrict__ to, const uint4* __restrict__ from, Index words) {
  const Index step = stride();
  Index i = first_index();
  for (; i + (in_flight - 1) * step < words; i += in_flight * step) {
    uint4 held[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) held[j] = from[i + j * step];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) to[i + j * step] = held[j];
  }
  for (; i < words; i += step) to[i] = from[i];
}

__device__ double2 fused(double2 b, double2 c) {
  return {fma(triad_scalar, c.x, b.x), fma(triad_scalar, c.y, b.y)};
}

template <bool streamed>
__device__ void store(double2* to, double2 value) {
  if (streamed)
    store_streamed(to, value);
  else
    *to = value;
}

template <bool streamed>
__global__ void __launch_bounds__(threads_per_block)
    triad(double2* __restrict__ a, const double2* __restrict__ b, const double2* __restrict__ c,
          Index pairs) {
  const Index step = stride();
  Index i = first_index();
  for (; i + (in_flight - 1) * step < pairs; i += in_flight * step) {
    double2 held_b[in_flight], held_c[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) {
      held_b[j] = b[i + j * step];
      held_c[j] = c[i + j * step];
    }
#pragma unroll
    for (int j = 0; j < in_flight; ++j)
      store<streamed>(a + i + j * step, fused(held_b[j], held_c[j]));
  }
  for (; i < pairs; i += step) store<streamed>(a + i, fused(b[i], c[i]));
}

__global__ void __launch_bounds__(threads_per_block)
    triad_swept(double2* __restrict__ a, const double2* __restrict__ b,
                const double2* __restrict__ c, Index pairs) {
  const Index i = first_index();
  if (i < pairs) a[i] = fused(b[i], c[i]);
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
  const Index step = stride();
  Index i = first_index();
  for (; i + (in_flight - 1) * step < words; i += in_flight * step) {
    ulonglong2 held[in_flight];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) held[j] = from[i + j * step];
#pragma unroll
    for (int j = 0; j < in_flight; ++j) mine += held[j].x + held[j].y;
  }
  for (; i < words; i += step) mine += from[i].x + from[i].y;
  for (int lanes = 16; lanes > 0; lanes /= 2) mine += __shfl_down_sync(~0U, mine, lanes);
  if (threadIdx.x % 32 == 0) atomicAdd(sum, mine);
}

__global__ void chase(const Index* lines, Index steps, Index* place) {
  Index at = *place;
  for (Index i = 0; i < steps; ++i) at = lines[at * (chase_line_bytes / sizeof(Index))];
  *place = at;
}

// Launches the kernel with as many blocks as the device holds at once.
template <auto Kernel, typename... Arguments>
int launch_resident(void* stream, const Arguments&... arguments) {
  std::int64_t most = 0;
  if (const int e = most_together<Kernel>(threads_per_block, &most)) return e;
  const auto count = static_cast<unsigned>(std::max<std::int64_t>(1, most));
  return launch<Kernel>({count, threads_per_block}, stream, arguments...);
}

}  // namespace

int launch_copy(void* to, const void* from, std::size_t bytes, void* stream) {
  if (bytes % 16 != 0) return cudaErrorInvalidValue;
  return launch_resident<copy>(stream, static_cast<uint4*>(to), static_cast<const uint4*>(from),
                               bytes / 16);
}

int launch_triad(double* a, const double* b, const double* c, std::size_t elements, Sweep sweep,
                 void* stream) {
  if (elements % 2 != 0) return cudaErrorInvalidValue;
  const Index pairs = elements / 2;
  auto* to = reinterpret_cast<double2*>(a);
  const auto* left = reinterpret_cast<const double2*>(b);
  const auto* right = reinterpret_cast<const double2*>(c);
  if (sweep == Sweep::swept) {
    const Index count = std::max<Index>((pairs + threads_per_block - 1) / threads_per_block, 1);
    return launch<triad_swept>({static_cast<unsigned>(count), threads_per_block}, stream, to, left,
                               right, pairs);
  }
  if (sweep == Sweep::streamed) return launch_resident<triad<true>>(stream, to, left, right, pairs);
  return launch_resident<triad<false>>(stream, to, left, right, pairs);
}

int launch_triad_fill(double* b, double* c, std::size_t elements, std::uint64_t seed,
                      void* stream) {
  return launch_resident<triad_fill>(stream, b, c, elements, seed);
}

int launch_triad_check(const double* a, std::size_t elements, std::uint64_t seed,
                       TriadResult* result, void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (auto e = cudaMemsetAsync(result, 0, sizeof *result, queue)) return e;
  if (auto e = cudaMemsetAsync(&result->first, 0xff, sizeof result->first, queue)) return e;
  return launch_resident<triad_check>(stream, a, elements, seed, result);
}

int launch_read(const void* from, std::size_t bytes, std::uint64_t* sum, void* stream) {
  if (bytes % 16 != 0) return cudaErrorInvalidValue;
  return launch_resident<read>(stream, static_cast<const ulonglong2*>(from), bytes / 16,
                               reinterpret_cast<Wide*>(sum));
}

int launch_chase(const void* lines, std::uint64_t steps, std::uint64_t* at, void* stream) {
  return launch<chase>({1, 1}, stream, static_cast<const Index*>(lines), steps, at);
}

}  // namespace cb::kernels
