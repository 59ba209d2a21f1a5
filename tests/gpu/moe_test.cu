// The kernels of an expert exchange on a real device against loops of the host. Exit 77 (skipped
// for CTest) where there is no device.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/moe.h"
#include "kernels/pattern.h"

using namespace cb::kernels;

namespace {

constexpr std::int64_t tokens = 1000, width = 1024, payload = 1056;
constexpr std::int32_t top_k = 6, ranks = 16, experts_of_rank = 4, self = 3;
constexpr std::int64_t row_bytes = (payload + 8 + 8 * top_k + 15) / 16 * 16;

void demand(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s, last CUDA error: %s\n", what,
               cudaGetErrorString(cudaPeekAtLastError()));
  std::exit(1);
}

// Memory that both sides see.
template <typename T>
T* both_see(std::int64_t count) {
  T* out = nullptr;
  demand(cudaMallocManaged(&out, count * sizeof(T)) == cudaSuccess, "cudaMallocManaged");
  return out;
}

void done(int code, const char* what) {
  demand(code == 0 && cudaDeviceSynchronize() == cudaSuccess, what);
}

struct Exchange {
  std::int32_t* experts = both_see<std::int32_t>(tokens * top_k);
  std::int32_t* places = both_see<std::int32_t>(tokens * ranks);
  std::int32_t* counts = both_see<std::int32_t>(ranks);
  float* weights = both_see<float>(tokens * top_k);

  Exchange() {
    for (std::int64_t i = 0; i < tokens * top_k; ++i) {
      experts[i] = static_cast<std::int32_t>((pattern_word(i / top_k, 1) % 61 + i % top_k * 7) %
                                             (ranks * experts_of_rank));
      weights[i] = static_cast<float>(i % 7);
    }
  }
  bool here(std::int64_t token, std::int32_t choice, std::int32_t rank) const {
    return experts[token * top_k + choice] / experts_of_rank == rank;
  }
  bool goes(std::int64_t token, std::int32_t rank) const {
    for (std::int32_t i = 0; i < top_k; ++i)
      if (here(token, i, rank)) return true;
    return false;
  }
  MoeRoutes routes() const {
    return {experts, tokens, top_k, ranks, experts_of_rank, places, counts};
  }
};

void check_row(const Exchange& e, std::int64_t token, std::int32_t rank, const unsigned char* from,
               const unsigned char* row) {
  demand(std::memcmp(row, from + token * payload, payload) == 0, "payload of a row");
  std::int32_t label[2 + top_k];
  float weights[top_k];
  std::memcpy(label, row + payload, sizeof label);
  std::memcpy(weights, row + payload + sizeof label, sizeof weights);
  demand(label[0] == self && label[1] == token, "rank and token of a row");
  for (std::int32_t i = 0; i < top_k; ++i) {
    const std::int64_t at = token * top_k + i;
    demand(label[2 + i] == (e.here(token, i, rank) ? e.experts[at] : -1), "experts of a row");
    demand(weights[i] == (e.here(token, i, rank) ? e.weights[at] : 0), "weights of a row");
  }
}

void check_exchange() {
  const Exchange e;
  auto* token = both_see<unsigned char>(tokens * payload);
  auto* row = both_see<unsigned char>(tokens * top_k * row_bytes);
  auto* result = both_see<float>(tokens * top_k * width);
  auto *sum = both_see<float>(tokens * width), *wanted = both_see<float>(tokens * width);
  std::memset(wanted, 0, tokens * width * sizeof(float));
  for (std::int64_t i = 0; i < tokens * payload; ++i)
    token[i] = static_cast<unsigned char>(pattern_word(i, 2));
  for (std::int64_t i = 0; i < tokens * top_k * width; ++i)
    result[i] = static_cast<float>(static_cast<std::int64_t>(pattern_word(i, 3)) >> 20);
  done(launch_moe_places(e.routes(), nullptr), "moe_places");
  done(launch_moe_pack({e.routes(), e.weights, token, row, payload, row_bytes, self}, nullptr),
       "moe_pack");
  done(launch_moe_add({e.routes(), result, sum, width, 0}, nullptr), "moe_add");
  std::int64_t at = 0;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    std::int32_t place = 0;
    for (std::int64_t t = 0; t < tokens; ++t) {
      demand(e.places[t * ranks + rank] == (e.goes(t, rank) ? place : -1), "place of a token");
      if (!e.goes(t, rank)) continue;
      check_row(e, t, rank, token, row + at * row_bytes);
      for (std::int64_t i = 0; i < width; ++i) wanted[t * width + i] += result[at * width + i];
      ++place;
      ++at;
    }
    demand(e.counts[rank] == place, "count of a rank");
  }
  demand(std::memcmp(sum, wanted, tokens * width * sizeof(float)) == 0, "sums of tokens");
}

}  // namespace

int main() {
  int devices = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no CUDA device: %s\n", cudaGetErrorString(code));
    return 77;
  }
  check_exchange();
  std::puts("kernels of an expert exchange: as on the host");
}
