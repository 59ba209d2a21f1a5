// Kernels with a mistake each, small ones, and one that is right.
#include "tests/device_executor/planted/planted.h"

#include "kernels/launch.h"
#include "kernels/together.h"

namespace planted {
namespace {

using cb::kernels::announce;
using cb::kernels::await;
using cb::kernels::dynamic_shared;
using cb::kernels::launch;
using cb::kernels::launch_together;

__global__ void write_from(int* to, int first) { to[first + static_cast<int>(threadIdx.x)] = 7; }

__global__ void read_from(const int* from, int first, int* to) {
  to[threadIdx.x] = from[first + static_cast<int>(threadIdx.x)];
}

using Row = int[64];

// Each thread writes its place and reads its neighbour's.
__global__ void rotate(int* data, bool barrier) {
  CB_SHARED(Row, row);
  row[threadIdx.x] = data[threadIdx.x];
  if (barrier) __syncthreads();
  data[threadIdx.x] = row[(threadIdx.x + 1) % blockDim.x];
}

__global__ void rotate_dynamic(int* data, unsigned places) {
  int* row = dynamic_shared<int>();
  if (threadIdx.x < places) row[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = row[(threadIdx.x + 1) % blockDim.x];
}

__global__ void rotate_in_warp(int* data, bool barrier) {
  CB_SHARED(Row, row);
  row[threadIdx.x] = data[threadIdx.x];
  if (barrier) __syncwarp();
  const unsigned first = threadIdx.x / 32 * 32;
  data[threadIdx.x] = row[first + (threadIdx.x + 1) % 32];
}

__global__ void barrier_of_some(unsigned some) {
  if (threadIdx.x < some) __syncthreads();
}

__global__ void barrier_in_each_branch(int* data) {
  if (threadIdx.x % 2 == 0) {
    __syncthreads();
    data[threadIdx.x] = 1;
  } else {
    __syncthreads();
    data[threadIdx.x] = 2;
  }
}

__global__ void shuffle_of_some(int* data, unsigned mask, unsigned lanes) {
  const int mine = data[threadIdx.x];
  if (threadIdx.x < lanes) data[threadIdx.x] = __shfl_xor_sync(mask, mine, 1);
}

__global__ void shuffle_from(int* data, unsigned mask, int lane) {
  if ((mask >> threadIdx.x & 1U) != 0)
    data[threadIdx.x] = __shfl_sync(mask, data[threadIdx.x], lane);
}

__global__ void shuffle_and_vote(int* data) {
  if (threadIdx.x < 16)
    data[threadIdx.x] = __shfl_sync(~0U, 1, 0);
  else
    data[threadIdx.x] = __any_sync(~0U, 1);
}

// Blocks add what they wrote; the last of them adds all. Right only if what was written is
// announced.
__global__ void last_block_adds(const int* in, int* parts, unsigned* done, int* sum,
                                bool announce) {
  CB_SHARED(unsigned, before);
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = in[2 * blockIdx.x] + in[2 * blockIdx.x + 1];
    if (announce) __threadfence();
    before = atomicAdd(done, 1);
  }
  __syncthreads();
  if (before != gridDim.x - 1 || threadIdx.x != 0) return;
  int all = 0;
  for (unsigned i = 0; i < gridDim.x; ++i) all += parts[i];
  *sum = all;
}

__global__ void wait_for_next_block(unsigned* flags) {
  flags[blockIdx.x] = 1;
  while (atomicAdd(&flags[(blockIdx.x + 1) % gridDim.x], 0) == 0) {
  }
}

// Each block writes twice, tells the others, and adds what all wrote. `silent`: that block tells
// nothing the second time. `early`: the others hear of it before it is written.
__global__ void add_together(const int* in, int* parts, std::uint64_t* turns, int* sums,
                             unsigned silent, bool early) {
  int sum = 0;
  for (unsigned turn = 1; turn <= 2; ++turn) {
    int* of_turn = parts + turn % 2 * gridDim.x;
    if (threadIdx.x == 0) {
      if (early) announce(&turns[blockIdx.x], turn);
      of_turn[blockIdx.x] = in[blockIdx.x] * static_cast<int>(turn);
      if (!early && (turn == 1 || blockIdx.x != silent)) announce(&turns[blockIdx.x], turn);
    }
    for (unsigned b = threadIdx.x; b < gridDim.x; b += blockDim.x) await(&turns[b], turn);
    __syncthreads();
    for (unsigned b = 0; b < gridDim.x; ++b) sum += of_turn[b];
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

__global__ void words(unsigned* out) {
  const unsigned lane = threadIdx.x;
  unsigned* mine = out + lane * words_of_lane;
  mine[0] = __shfl_sync(~0U, lane, 5);
  mine[1] = __shfl_sync(~0U, lane, 9, 8);
  mine[2] = __shfl_up_sync(~0U, lane, 3);
  mine[3] = __shfl_up_sync(~0U, lane, 3, 8);
  mine[4] = __shfl_down_sync(~0U, lane, 4);
  mine[5] = __shfl_down_sync(~0U, lane, 4, 16);
  mine[6] = __shfl_xor_sync(~0U, lane, 16);
  mine[7] = __shfl_xor_sync(~0U, lane, 12, 8);
  mine[8] = __ballot_sync(~0U, lane % 3 == 0);
  mine[9] = static_cast<unsigned>(__any_sync(~0U, lane == 31));
  mine[10] = static_cast<unsigned>(__all_sync(~0U, lane < 31));
  mine[11] = __match_any_sync(~0U, lane / 4);
  mine[12] = __reduce_add_sync(~0U, lane);
  mine[13] = __reduce_max_sync(~0U, lane ^ 7U);
  mine[14] = __reduce_or_sync(~0U, 1U << lane);
  mine[15] = static_cast<unsigned>(__syncthreads_count(lane < 10));
  mine[16] = lane % 2 == 0 ? __ballot_sync(0x55555555U, lane > 7) : 0;
}

__global__ void places(unsigned* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  ++out[block * blockDim.x * blockDim.y * blockDim.z + thread];
}

__global__ void atomics(int* values) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  atomicAdd(&values[0], 1);
  atomicSub(&values[1], 2);
  atomicMin(&values[2], i);
  atomicMax(&values[3], i);
  atomicOr(&values[4], 1 << i % 8);
  atomicAnd(&values[5], ~(1 << i % 8));
  atomicXor(&values[6], i);
}

__global__ void add_by_exchange(float* sum, unsigned* owner) {
  while (atomicCAS(owner, 0U, 1U) != 0) __nanosleep(10);
  atomicAdd(sum, 0.5F);
  atomicExch(owner, 0U);
}

}  // namespace

int launch_write_from(int* to, int first, unsigned threads) {
  return launch<write_from>({1, threads}, nullptr, to, first);
}
int launch_read_from(const int* from, int first, int* to, unsigned threads) {
  return launch<read_from>({1, threads}, nullptr, from, first, to);
}
int launch_rotate(int* data, unsigned threads, bool barrier) {
  return launch<rotate>({1, threads}, nullptr, data, barrier);
}
int launch_rotate_dynamic(int* data, unsigned threads, unsigned places) {
  return launch<rotate_dynamic>({1, threads, places * sizeof(int)}, nullptr, data, places);
}
int launch_rotate_in_warp(int* data, unsigned threads, bool barrier) {
  return launch<rotate_in_warp>({1, threads}, nullptr, data, barrier);
}
int launch_barrier_of_some(unsigned some, unsigned threads) {
  return launch<barrier_of_some>({3, threads}, nullptr, some);
}
int launch_barrier_in_each_branch(int* data, unsigned threads) {
  return launch<barrier_in_each_branch>({1, threads}, nullptr, data);
}
int launch_shuffle_of_some(int* data, unsigned mask, unsigned lanes, unsigned threads) {
  return launch<shuffle_of_some>({1, threads}, nullptr, data, mask, lanes);
}
int launch_shuffle_from(int* data, unsigned mask, int lane) {
  return launch<shuffle_from>({1, 32}, nullptr, data, mask, lane);
}
int launch_shuffle_and_vote(int* data) { return launch<shuffle_and_vote>({1, 32}, nullptr, data); }
int launch_last_block_adds(const int* in, int* parts, unsigned* done, int* sum, bool announce,
                           unsigned blocks) {
  return launch<last_block_adds>({blocks, 64}, nullptr, in, parts, done, sum, announce);
}
int launch_wait_for_next_block(unsigned* flags) {
  return launch<wait_for_next_block>({2, 1}, nullptr, flags);
}
int launch_add_together(const int* in, int* parts, std::uint64_t* turns, int* sums, unsigned silent,
                        bool early, bool together, unsigned blocks) {
  const cb::kernels::Shape shape{blocks, 64};
  return together
             ? launch_together<add_together>(shape, nullptr, in, parts, turns, sums, silent, early)
             : launch<add_together>(shape, nullptr, in, parts, turns, sums, silent, early);
}
int launch_words(unsigned* out) { return launch<words>({1, 32}, nullptr, out); }
int launch_places(unsigned* out, const dim3& blocks, const dim3& threads) {
  return launch<places>({blocks, threads}, nullptr, out);
}
int launch_atomics(int* values, unsigned blocks, unsigned threads) {
  return launch<atomics>({blocks, threads}, nullptr, values);
}
int launch_add_by_exchange(float* sum, unsigned* owner, unsigned threads) {
  return launch<add_by_exchange>({1, threads}, nullptr, sum, owner);
}

}  // namespace planted
