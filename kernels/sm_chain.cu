#include "kernels/launch.h"
#include "kernels/sm_chain.h"

namespace cb::kernels {
namespace {

using Wide = unsigned long long;

__global__ void __launch_bounds__(chain_threads)
    chain(ChainResult* results, std::uint32_t iterations, Wide wanted, std::int64_t damaged_block) {
  CB_SHARED(Wide, sum);
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  Wide mine = chain_result(threadIdx.x, iterations);
  if (threadIdx.x == 0 && blockIdx.x == damaged_block) mine ^= 1U << 17;
  atomicAdd(&sum, mine);
  __syncthreads();
  if (threadIdx.x != 0) return;
  ChainResult& mine_here = results[blockIdx.x];
  if (mine_here.wrong == 0) {
    mine_here.value = sum;
    mine_here.sm = multiprocessor();
  }
  if (sum != wanted) ++mine_here.wrong;
}

__global__ void spin(Wide nanoseconds) {
  const Wide start = device_nanoseconds();
  while (device_nanoseconds() - start < nanoseconds) {
  }
}

}  // namespace

int launch_chain(ChainResult* results, unsigned blocks, std::uint32_t iterations,
                 std::uint64_t wanted, std::int64_t damaged_block, void* stream) {
  return launch<chain>({blocks, chain_threads}, stream, results, iterations, wanted, damaged_block);
}

int launch_spin(double seconds, void* stream) {
  return launch<spin>({1, 1}, stream, static_cast<Wide>(seconds * 1e9));
}

}  // namespace cb::kernels
