// Operands of eight bits: each matrix is scaled so that its largest element becomes the largest
// number of the format. The library's products want the summed index contiguous, so a matrix is
// written as it stands, or turned, or both ways at once.
#include <cuda_fp8.h>

#include "kernels/block_sums.h"
#include "kernels/launch.h"
#include "kernels/train.h"

namespace cb::kernels {
namespace {

using Index = std::int64_t;

constexpr unsigned edge = 64;  // of the part of a matrix that a block writes
constexpr unsigned words_of_edge = edge / 4;

// Four elements of a row are a word. A word more in each row: its columns lie in different banks.
struct Tile {
  std::uint32_t word[edge][words_of_edge + 1];
};

// By their bits, which for sizes have the order of the numbers; NaN is the largest.
__device__ unsigned larger(unsigned size, float x) {
  const unsigned bits = __float_as_uint(x) & 0x7fffffffU;
  return bits > size ? bits : size;
}

__global__ void __launch_bounds__(block_threads) train_largest(TrainEight e) {
  unsigned mine = 0;
  for (Index r = blockIdx.y; r < e.rows; r += gridDim.y) {
    const auto* row = reinterpret_cast<const float4*>(e.from + r * e.leading);
    for (Index i = loop_begin(); i < e.columns / 4; i += loop_step()) {
      const float4 x = row[i];
      mine = larger(larger(larger(larger(mine, x.x), x.y), x.z), x.w);
    }
  }
  CB_SHARED(OfWarps<unsigned>, tops);
  mine = __reduce_max_sync(~0U, mine);
  if (threadIdx.x % 32 == 0) tops.value[threadIdx.x / 32] = mine;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (unsigned top : tops.value) mine = top > mine ? top : mine;
  atomicMax(&e.unit->largest, mine);
}

// By what an element is multiplied. NaN and infinity leave no number behind.
__device__ float scale_of(std::uint32_t largest, bool gradient) {
  constexpr float greatest = 3.4028235e38F;
  const float size = __uint_as_float(largest);
  if (size == 0) return 1;
  const float scale = (gradient ? 57344.0F : 448.0F) / size;
  return scale > greatest ? greatest : scale;
}

template <typename Eight>
__device__ std::uint32_t word_of(float4 x, float scale) {
  const auto bits = [scale](float value) { return std::uint32_t{Eight(value * scale).__x}; };
  return bits(x.x) | bits(x.y) << 8 | bits(x.z) << 16 | bits(x.w) << 24;
}

// Byte `column` of four rows.
__device__ std::uint32_t turned_word(const Tile& tile, unsigned row, unsigned column) {
  std::uint32_t out = 0;
  for (unsigned i = 0; i < 4; ++i)
    out |= (tile.word[row + i][column / 4] >> column % 4 * 8 & 0xffU) << 8 * i;
  return out;
}

template <typename Eight>
__global__ void __launch_bounds__(block_threads) train_eight(TrainEight e) {
  CB_SHARED(Tile, tile);
  const Index row = Index{blockIdx.y} * edge, column = Index{blockIdx.x} * edge;
  const float scale = scale_of(e.unit->largest, e.gradient);
  if (row + column == 0 && threadIdx.x == 0) e.unit->unit = 1 / scale;
  for (unsigned i = threadIdx.x; i < edge * words_of_edge; i += block_threads) {
    const unsigned r = i / words_of_edge, c = i % words_of_edge * 4;
    if (row + r >= e.rows || column + c >= e.columns) continue;
    const Index at = (row + r) * e.leading + column + c;
    const auto word = word_of<Eight>(*reinterpret_cast<const float4*>(e.from + at), scale);
    tile.word[r][c / 4] = word;
    if (e.plain != nullptr)
      *reinterpret_cast<std::uint32_t*>(e.plain + (row + r) * e.columns + column + c) = word;
  }
  if (e.turned == nullptr) return;
  __syncthreads();
  for (unsigned i = threadIdx.x; i < edge * words_of_edge; i += block_threads) {
    const unsigned c = i / words_of_edge, r = i % words_of_edge * 4;
    if (row + r >= e.rows || column + c >= e.columns) continue;
    *reinterpret_cast<std::uint32_t*>(e.turned + (column + c) * e.rows + row + r) =
        turned_word(tile, r, c);
  }
}

}  // namespace

int launch_train_eight(const TrainEight& e, void* stream) {
  if (!train_takes_eight(e)) return cudaErrorInvalidValue;
  if (const int code =
          cudaMemsetAsync(e.unit, 0, sizeof *e.unit, static_cast<cudaStream_t>(stream)))
    return code;
  // Without gaps it is one long row.
  TrainEight all = e;
  if (e.leading == e.columns) {
    all.rows = 1;
    all.columns = e.rows * e.columns;
  }
  const auto across = blocks_of((all.columns / 4 + 7) / 8);
  const dim3 looks(across < 1024 ? across : 1024,
                   static_cast<unsigned>(all.rows < 64 ? all.rows : 64));
  if (const int code = launch<train_largest>({looks, block_threads}, stream, all)) return code;
  const auto parts = [](Index count) { return static_cast<unsigned>((count + edge - 1) / edge); };
  const dim3 blocks(parts(e.columns), parts(e.rows));
  if (e.gradient) return launch<train_eight<__nv_fp8_e5m2>>({blocks, block_threads}, stream, e);
  return launch<train_eight<__nv_fp8_e4m3>>({blocks, block_threads}, stream, e);
}

}  // namespace cb::kernels
