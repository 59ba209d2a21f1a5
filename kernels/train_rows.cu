// The loops of a training step over rows: norms, positions, SwiGLU, sums of arrays. A block has a
// row where a row is summed.
#include "kernels/bfloat16.h"
#include "kernels/block_sums.h"
#include "kernels/launch.h"
#include "kernels/layer_elements.h"
#include "kernels/train.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

__global__ void __launch_bounds__(block_threads) train_norm(TrainNorm n) {
  for (Index r = blockIdx.x; r < n.rows; r += gridDim.x) {
    const float* x = n.x + r * n.width;
    float mine = 0;
    for (Index i = threadIdx.x; i < n.width; i += block_threads) mine += x[i] * x[i];
    const float s = 1.0F / sqrtf(block_sum(mine) / static_cast<float>(n.width) + 1e-5F);
    if (threadIdx.x == 0) n.scale[r] = s;
    for (Index i = threadIdx.x; i < n.width; i += block_threads)
      n.y[r * n.width + i] = x[i] * s * n.gain[i];
  }
}

// dx += s·(g·dy) − x·s³/width·Σ(g·dy·x).
__global__ void __launch_bounds__(block_threads) train_norm_dx(TrainNormBackward n) {
  for (Index r = blockIdx.x; r < n.rows; r += gridDim.x) {
    const float *x = n.x + r * n.width, *dy = n.dy + r * n.width;
    float mine = 0;
    for (Index i = threadIdx.x; i < n.width; i += block_threads) mine += n.gain[i] * dy[i] * x[i];
    const float s = n.scale[r];
    const float pull = block_sum(mine) * s * s * s / static_cast<float>(n.width);
    for (Index i = threadIdx.x; i < n.width; i += block_threads)
      n.dx[r * n.width + i] += s * n.gain[i] * dy[i] - x[i] * pull;
  }
}

// A thread has a column of 64 rows; then one has a column of all parts.
__global__ void __launch_bounds__(block_threads) train_norm_dgain(TrainNormBackward n) {
  const Index column = loop_begin(), part = blockIdx.y;
  if (column >= n.width) return;
  const Index end = min(n.rows, (part + 1) * 64);
  float sum = 0;
  for (Index r = part * 64; r < end; ++r)
    sum += n.dy[r * n.width + column] * n.x[r * n.width + column] * n.scale[r];
  n.parts[part * n.width + column] = sum;
}
__global__ void __launch_bounds__(block_threads)
    train_norm_join(const float* parts, float* dgain, Index count, Index width) {
  const Index column = loop_begin();
  if (column >= width) return;
  float sum = 0;
  for (Index p = 0; p < count; ++p) sum += parts[p * width + column];
  dgain[column] += sum;
}

template <typename Rows>
__device__ Index first_position(const Rows& r) {
  return r.position == nullptr ? r.past : static_cast<Index>(*r.position);
}

__global__ void __launch_bounds__(block_threads) train_rotate(TrainRotation r) {
  const Index half = r.dim / 2, each = r.heads * half;
  for (Index i = loop_begin(); i < r.rows * each; i += loop_step()) {
    const Index row = i / each, head = i % each / half, pair = i % half;
    const Index at = (first_position(r) + row % r.sequence) * half + pair;
    float* low = r.x + row * r.stride + head * r.dim + pair;
    float* high = low + half;
    const Turned turned = turned_by(*low, *high, r.cosines[at], r.sines[at], r.direction);
    *low = turned.low;
    *high = turned.high;
  }
}

__global__ void __launch_bounds__(block_threads) train_append(TrainRows r) {
  for (Index i = loop_begin(); i < r.rows * r.width; i += loop_step()) {
    const Index row = i / r.width;
    const Index to = row / r.sequence * r.capacity + first_position(r) + row % r.sequence;
    const float value = r.from[row * r.stride + i % r.width];
    if (r.narrow)
      static_cast<std::uint16_t*>(r.to)[to * r.width + i % r.width] = to_bfloat16(value);
    else
      static_cast<float*>(r.to)[to * r.width + i % r.width] = value;
  }
}

// A block takes a part of one row after the other.
__global__ void __launch_bounds__(block_threads)
    train_swiglu(const float* gate_up, float* out, Index rows, Index width) {
  for (Index r = blockIdx.y; r < rows; r += gridDim.y) {
    const float* row = gate_up + r * 2 * width;
    for (Index i = loop_begin(); i < width; i += loop_step())
      out[r * width + i] = swiglu_of(row[i], row[width + i]);
  }
}
__global__ void __launch_bounds__(block_threads)
    train_swiglu_backward(const float* dout, float* gate_up, Index rows, Index width) {
  for (Index r = blockIdx.y; r < rows; r += gridDim.y) {
    float* row = gate_up + r * 2 * width;
    for (Index i = loop_begin(); i < width; i += loop_step()) {
      const float g = row[i], up = row[width + i], d = dout[r * width + i];
      const float sigmoid = 1.0F / (1.0F + expf(-g));
      row[i] = d * up * sigmoid * (1.0F + g * (1.0F - sigmoid));
      row[width + i] = d * g * sigmoid;
    }
  }
}

__global__ void __launch_bounds__(block_threads)
    train_add(float* to, const float* from, Index count) {
  for (Index i = loop_begin(); i < count; i += loop_step()) to[i] += from[i];
}

__device__ unsigned pair_of(float low, float high) {
  return unsigned{to_bfloat16(low)} | unsigned{to_bfloat16(high)} << 16;
}
__device__ void narrow_eight(const float* from, std::uint16_t* to) {
  const auto* wide = reinterpret_cast<const float4*>(from);
  const float4 a = wide[0], b = wide[1];
  *reinterpret_cast<uint4*>(to) =
      uint4{pair_of(a.x, a.y), pair_of(a.z, a.w), pair_of(b.x, b.y), pair_of(b.z, b.w)};
}

// A block takes a part of one row after the other; a thread eight elements at once, or one.
template <bool Eight>
__global__ void __launch_bounds__(block_threads) train_narrow(TrainNarrow n) {
  for (Index r = blockIdx.y; r < n.matrices * n.rows; r += gridDim.y) {
    const float* from = n.from + r / n.rows * n.step + r % n.rows * n.leading;
    std::uint16_t* to = n.to + r * n.columns;
    if constexpr (Eight) {
      for (Index i = 8 * loop_begin(); i < n.columns; i += 8 * loop_step())
        narrow_eight(from + i, to + i);
    } else {
      for (Index i = loop_begin(); i < n.columns; i += loop_step()) to[i] = to_bfloat16(from[i]);
    }
  }
}

// Whether each group of eight begins where 16 bytes can be moved at once.
bool comes_in_eights(const TrainNarrow& n) {
  const auto bytes = reinterpret_cast<std::uintptr_t>(n.from) |
                     reinterpret_cast<std::uintptr_t>(n.to) |
                     static_cast<std::uintptr_t>((n.leading | n.step) * 4);
  return bytes % 16 == 0 && n.columns % 8 == 0;
}
// Matrices without gaps are one long row.
TrainNarrow in_one_row(TrainNarrow n) {
  const Index all = n.rows * n.columns;
  if (n.leading != n.columns || (n.matrices > 1 && n.step != all)) return n;
  const Index count = n.matrices * all;
  return {n.from, n.to, 1, 1, count, count, count};
}

unsigned one_a_row(Index rows) { return static_cast<unsigned>(rows < 65535 ? rows : 65535); }
// Parts of a row, of so many elements for each thread.
unsigned parts_of_row(Index columns, Index each) { return blocks_of((columns + each - 1) / each); }

}  // namespace

int launch_train_norm(const TrainNorm& n, void* stream) {
  if (n.rows == 0) return cudaSuccess;
  return launch<train_norm>({one_a_row(n.rows), block_threads}, stream, n);
}

int launch_train_norm_backward(const TrainNormBackward& n, void* stream) {
  if (n.rows == 0) return cudaSuccess;
  const auto parts = train_norm_parts(n.rows);
  if (parts > 65535) return cudaErrorInvalidValue;
  const auto columns = static_cast<unsigned>((n.width + block_threads - 1) / block_threads);
  if (const int e = launch<train_norm_dx>({one_a_row(n.rows), block_threads}, stream, n)) return e;
  const dim3 blocks(columns, static_cast<unsigned>(parts));
  if (const int e = launch<train_norm_dgain>({blocks, block_threads}, stream, n)) return e;
  return launch<train_norm_join>({columns, block_threads}, stream, n.parts, n.dgain, parts,
                                 n.width);
}

int launch_train_rotate(const TrainRotation& r, void* stream) {
  return launch<train_rotate>({blocks_of(r.rows * r.heads * r.dim / 2), block_threads}, stream, r);
}

int launch_train_append(const TrainRows& r, void* stream) {
  return launch<train_append>({blocks_of(r.rows * r.width), block_threads}, stream, r);
}

int launch_train_narrow(const TrainNarrow& matrices, void* stream) {
  if (matrices.rows == 0 || matrices.columns == 0) return cudaSuccess;
  const TrainNarrow n = in_one_row(matrices);
  const unsigned rows = one_a_row(n.matrices * n.rows);
  if (comes_in_eights(n))
    return launch<train_narrow<true>>({dim3(parts_of_row(n.columns, 8), rows), block_threads},
                                      stream, n);
  return launch<train_narrow<false>>({dim3(parts_of_row(n.columns, 4), rows), block_threads},
                                     stream, n);
}

int launch_train_swiglu(const float* gate_up, float* out, std::int64_t rows, std::int64_t width,
                        void* stream) {
  if (rows == 0) return cudaSuccess;
  return launch<train_swiglu>({dim3(parts_of_row(width, 4), one_a_row(rows)), block_threads},
                              stream, gate_up, out, rows, width);
}

int launch_train_swiglu_backward(const float* dout, float* gate_up, std::int64_t rows,
                                 std::int64_t width, void* stream) {
  if (rows == 0) return cudaSuccess;
  return launch<train_swiglu_backward>(
      {dim3(parts_of_row(width, 4), one_a_row(rows)), block_threads}, stream, dout, gate_up, rows,
      width);
}

int launch_train_add(float* to, const float* from, std::int64_t count, void* stream) {
  return launch<train_add>({blocks_of(count), block_threads}, stream, to, from, count);
}

}  // namespace cb::kernels
