// Kernels of tensor cores and asynchronous copies: right ones, and the same with a mistake each.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "tests/device_executor/planted/planted_tensor.h"

#include "kernels/tensor.h"

namespace planted {
namespace {

using namespace cb::kernels;

// Fragments straight from memory: A of 16×16 by rows, B of 16×8 by columns, as halves.
__global__ void multiply_once(const __half* a, const __half* b, const float* c, float* d,
                              unsigned lanes) {
  const unsigned lane = threadIdx.x, g = lane / 4, t = lane % 4;
  if (lane >= lanes) return;
  const auto pair = [](const __half* from) {
    return __half_as_ushort(from[0]) | unsigned{__half_as_ushort(from[1])} << 16;
  };
  const unsigned fa[4] = {pair(a + g * 16 + 2 * t), pair(a + (g + 8) * 16 + 2 * t),
                          pair(a + g * 16 + 2 * t + 8), pair(a + (g + 8) * 16 + 2 * t + 8)};
  const unsigned fb[2] = {pair(b + g * 16 + 2 * t), pair(b + g * 16 + 2 * t + 8)};
  float sum[4] = {c[g * 8 + 2 * t], c[g * 8 + 2 * t + 1], c[(g + 8) * 8 + 2 * t],
                  c[(g + 8) * 8 + 2 * t + 1]};
  multiply_half(sum, fa, fb, sum);
  d[g * 8 + 2 * t] = sum[0];
  d[g * 8 + 2 * t + 1] = sum[1];
  d[(g + 8) * 8 + 2 * t] = sum[2];
  d[(g + 8) * 8 + 2 * t + 1] = sum[3];
}

// Loads what 64 rows of 8 numbers hold, straight and transposed.
__global__ void load_once(const unsigned short* from, unsigned* straight, unsigned* transposed,
                          unsigned shift) {
  using Rows = unsigned short[32 * 8 + 8];
  CB_SHARED(Rows, rows);
  for (unsigned i = threadIdx.x; i < 32 * 8; i += blockDim.x) rows[i] = from[i];
  __syncthreads();
  unsigned one[4], other[4];
  load_matrices(one, rows + threadIdx.x * 8 + shift);
  load_matrices_transposed(other, rows + threadIdx.x * 8);
  for (unsigned i = 0; i < 4; ++i) {
    straight[threadIdx.x * 4 + i] = one[i];
    transposed[threadIdx.x * 4 + i] = other[i];
  }
}

__global__ void load_from_global(const unsigned short* from, unsigned* out) {
  unsigned one[4];
  load_matrices(one, from + threadIdx.x * 8);
  out[threadIdx.x] = one[0];
}

// Two stages of a tile in flight, as a product has them: D = A·B with A of 16×32 and B of 32×16 (by
// columns) in bfloat16; one warp.
__global__ void tile_product(const __nv_bfloat16* a, const __nv_bfloat16* b, float* d,
                             Mistake mistake) {
  using Stages = __nv_bfloat16[2][16 * 16];
  CB_SHARED(Stages, stage_a);
  CB_SHARED(Stages, stage_b);
  const unsigned lane = threadIdx.x, row = lane / 2, half = lane % 2 * 8;
  for (unsigned stage = 0; stage < 2; ++stage) {
    copy_begin(&stage_a[stage][row * 16 + half], a + row * 32 + stage * 16 + half);
    copy_begin(&stage_b[stage][row * 16 + half], b + row * 32 + stage * 16 + half);
    if (mistake != Mistake::no_commit) copies_commit();
  }
  float sum[2][4] = {};
  for (unsigned stage = 0; stage < 2; ++stage) {
    if (mistake == Mistake::waits_for_the_first_only || stage == 0)
      copies_wait<1>();
    else
      copies_wait<0>();
    if (mistake != Mistake::no_barrier) __syncwarp();
    unsigned fa[4], fb[4];
    // Matrices of A: rows 0 and 8 of the left half, then of the right one. Of B: columns 0 with
    // k = 0 and 8, then columns 8.
    load_matrices(fa, &stage_a[stage][(lane % 16) * 16 + lane / 16 * 8]);
    load_matrices(fb, &stage_b[stage][(lane / 16 * 8 + lane % 8) * 16 + lane / 8 % 2 * 8]);
    const unsigned left[2] = {fb[0], fb[1]}, right[2] = {fb[2], fb[3]};
    if (mistake == Mistake::lanes_missing && lane == 31) return;
    multiply_bfloat16(sum[0], fa, left, sum[0]);
    multiply_bfloat16(sum[1], fa, right, sum[1]);
  }
  const unsigned g = lane / 4, t = lane % 4;
  for (unsigned part = 0; part < 2; ++part)
    for (unsigned i = 0; i < 4; ++i)
      d[(g + i / 2 * 8) * 16 + part * 8 + 2 * t + i % 2] = sum[part][i];
}

}  // namespace

int launch_multiply_once(const void* a, const void* b, const float* c, float* d, unsigned lanes) {
  return launch<multiply_once>({1, 32}, nullptr, static_cast<const __half*>(a),
                               static_cast<const __half*>(b), c, d, lanes);
}
int launch_load_once(const unsigned short* from, unsigned* straight, unsigned* transposed,
                     unsigned shift) {
  return launch<load_once>({1, 32}, nullptr, from, straight, transposed, shift);
}
int launch_load_from_global(const unsigned short* from, unsigned* out) {
  return launch<load_from_global>({1, 32}, nullptr, from, out);
}
int launch_tile_product(const void* a, const void* b, float* d, Mistake mistake) {
  return launch<tile_product>({1, 32}, nullptr, static_cast<const __nv_bfloat16*>(a),
                              static_cast<const __nv_bfloat16*>(b), d, mistake);
}

}  // namespace planted
