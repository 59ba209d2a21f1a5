// Fill and verify on a real device: sizes around words and blocks, planted errors, foreign seeds.
// Exit 77 (skipped for CTest) where there is no device, with CUDA's own reason on stderr.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kernels/fill_verify.h"
#include "kernels/pattern.h"

using namespace cb::kernels;

namespace {

constexpr int skipped = 77;
constexpr std::uint64_t seed = 20261121;

void require(bool condition, const char* what, std::size_t bytes) {
  if (condition) return;
  std::fprintf(stderr, "failed with %zu bytes: %s\n", bytes, what);
  std::exit(1);
}

VerifyResult verify(const unsigned char* memory, std::size_t bytes, std::uint64_t wanted_seed) {
  VerifyResult* result = nullptr;
  require(cudaMallocManaged(&result, sizeof *result) == cudaSuccess, "cudaMallocManaged", bytes);
  *result = {123, 456};  // must be overwritten
  require(launch_verify(memory, bytes, wanted_seed, result, nullptr) == 0, "launch_verify", bytes);
  require(cudaDeviceSynchronize() == cudaSuccess, "verify", bytes);
  const VerifyResult copy = *result;
  cudaFree(result);
  return copy;
}

void plant(unsigned char* memory, std::size_t offset) {
  const unsigned char wrong = pattern_byte(offset, seed) ^ 1U;
  require(cudaMemcpy(memory + offset, &wrong, 1, cudaMemcpyHostToDevice) == cudaSuccess,
          "cudaMemcpy", offset);
}

void check_size(std::size_t bytes) {
  unsigned char* memory = nullptr;
  require(cudaMalloc(&memory, bytes + 8) == cudaSuccess, "cudaMalloc", bytes);
  cudaMemset(memory, 0xee, bytes + 8);
  require(launch_fill(memory, bytes, seed, nullptr) == 0, "launch_fill", bytes);

  std::vector<unsigned char> host(bytes + 8);
  cudaMemcpy(host.data(), memory, bytes + 8, cudaMemcpyDeviceToHost);
  for (std::size_t i = 0; i < bytes; ++i)
    require(host[i] == pattern_byte(i, seed), "device and host pattern differ", bytes);
  for (std::size_t i = bytes; i < bytes + 8; ++i)
    require(host[i] == 0xee, "fill wrote beyond the end", bytes);

  const auto clean = verify(memory, bytes, seed);
  require(clean.mismatches == 0 && clean.first_mismatch == no_mismatch, "clean data", bytes);
  if (bytes >= 3) {
    plant(memory, bytes - 1);
    plant(memory, bytes / 2);
    const auto found = verify(memory, bytes, seed);
    require(found.mismatches == 2 && found.first_mismatch == bytes / 2, "two planted bytes", bytes);
  }
  if (bytes >= 4096)  // a byte of another seed agrees by chance once in 256
    require(verify(memory, bytes, seed + 1).mismatches > bytes * 97 / 100, "foreign seed", bytes);
  cudaFree(memory);
}

}  // namespace

int main() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "skipped: no usable GPU: %s\n", cudaGetErrorString(error));
    return skipped;
  }
  for (std::size_t bytes : {0, 1, 7, 8, 9, 63, 2048, 2049, 1 << 20, (64 << 20) + 5})
    check_size(bytes);
  unsigned char* memory = nullptr;
  require(cudaMalloc(&memory, 64) == cudaSuccess, "cudaMalloc", 64);
  require(launch_fill(memory + 1, 8, seed, nullptr) == cudaErrorMisalignedAddress, "alignment", 8);
  std::puts("fill and verify agree with the host pattern at 10 sizes");
}
