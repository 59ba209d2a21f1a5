// AdamW, the norm of the gradients, hashes of arrays, planted faults, and the first weights.
#include "kernels/block_sums.h"
#include "kernels/launch.h"
#include "kernels/train.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;
using Wide = unsigned long long;

__global__ void __launch_bounds__(block_threads) train_adamw(TrainMoments m, TrainAdam a) {
  for (Index i = loop_begin(); i < m.count; i += loop_step()) {
    const float g = m.gradient[i] * a.scale;
    const float mean = a.beta1 * m.mean[i] + (1 - a.beta1) * g;
    const float square = a.beta2 * m.square[i] + (1 - a.beta2) * g * g;
    m.mean[i] = mean;
    m.square[i] = square;
    m.weights[i] = a.keep * m.weights[i] - a.rate * mean / (sqrtf(square * a.root) + a.epsilon);
  }
}

__global__ void __launch_bounds__(block_threads)
    train_squares(const float* x, Index count, double* parts) {
  const Index begin = blockIdx.x * Index{16384}, end = min(count, begin + 16384);
  double mine = 0;
  for (Index i = begin + threadIdx.x; i < end; i += block_threads)
    mine += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  const double sum = block_sum(mine);
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
__global__ void __launch_bounds__(block_threads)
    train_squares_join(const double* parts, Index count, double* out) {
  double mine = 0;
  for (Index i = threadIdx.x; i < count; i += block_threads) mine += parts[i];
  const double sum = block_sum(mine);
  if (threadIdx.x == 0) *out = sum;
}

__device__ bool no_number(std::uint32_t bits) { return (bits & 0x7f800000U) == 0x7f800000U; }

__global__ void __launch_bounds__(block_threads)
    train_hash(const float* x, Index count, HashResult* result) {
  Wide sum = 0, bad = 0;
  const Index words = (count + 1) / 2;
  for (Index w = loop_begin(); w < words; w += loop_step()) {
    const std::uint32_t low = __float_as_uint(x[2 * w]);
    const std::uint32_t high = 2 * w + 1 < count ? __float_as_uint(x[2 * w + 1]) : 0;
    sum += hash_word(std::uint64_t{high} << 32 | low, static_cast<std::uint64_t>(w));
    bad += (no_number(low) ? 1 : 0) + (no_number(high) ? 1 : 0);
  }
  sum = block_sum(sum);
  bad = block_sum(bad);
  if (threadIdx.x != 0) return;
  atomicAdd(reinterpret_cast<Wide*>(&result->hash), sum);
  if (bad != 0) atomicAdd(reinterpret_cast<Wide*>(&result->not_finite), bad);
}

__global__ void train_damage(float* element, bool no_number) {
  *element = __uint_as_float(no_number ? 0x7fc00000U : __float_as_uint(*element) ^ 0x00400000U);
}

// SplitMix64 with a stream for each element, as src/bench/cpu/random.h.
__device__ std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}
__device__ double next_unit(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15U;
  return static_cast<double>(mixed(state) >> 11) * 0x1p-53;
}

__global__ void __launch_bounds__(block_threads) train_normal(TrainNormal n) {
  constexpr double pi = 3.141592653589793;
  for (Index i = loop_begin(); i < n.rows * n.columns; i += loop_step()) {
    const Index place =
        (n.first_row + i / n.columns) * n.whole_columns + n.first_column + i % n.columns;
    std::uint64_t state =
        mixed(mixed(n.stream_number + 1) ^ (static_cast<std::uint64_t>(place) + 1));
    const double radius = sqrt(-2 * log(1 - next_unit(state)));
    n.to[i] = static_cast<float>(n.deviation * radius * cos(2 * pi * next_unit(state)));
  }
}

}  // namespace

int launch_train_adamw(const TrainMoments& m, const TrainAdam& a, void* stream) {
  return launch<train_adamw>({blocks_of(m.count), block_threads}, stream, m, a);
}

int launch_train_squares(const float* x, std::int64_t count, double* parts, double* out,
                         void* stream) {
  const Index chunks = train_sum_parts(count);
  if (chunks > 0) {
    const auto blocks = static_cast<unsigned>(chunks);
    if (const int e = launch<train_squares>({blocks, block_threads}, stream, x, count, parts))
      return e;
  }
  return launch<train_squares_join>({1, block_threads}, stream, parts, chunks, out);
}

int launch_train_hash(const float* x, std::int64_t count, HashResult* result, void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (auto e = cudaMemsetAsync(result, 0, sizeof *result, queue)) return e;
  return launch<train_hash>({blocks_of((count + 1) / 2), block_threads}, stream, x, count, result);
}

int launch_train_damage(float* element, bool no_number, void* stream) {
  return launch<train_damage>({1, 1}, stream, element, no_number);
}

int launch_train_normal(const TrainNormal& n, void* stream) {
  return launch<train_normal>({blocks_of(n.rows * n.columns), block_threads}, stream, n);
}

}  // namespace cb::kernels
