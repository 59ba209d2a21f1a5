// The data of collectives on a real device against the same definitions on the host. Exit 77
// (skipped for CTest) where there is no device, with CUDA's own reason on stderr.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "kernels/collective_data.h"

using namespace cb::kernels;

namespace {

constexpr int skipped = 77;
constexpr std::uint64_t count = 10007;
constexpr std::uint64_t planted = 4321;

void require(bool condition, const char* what, int detail = 0) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s (%d), last CUDA error: %s\n", what, detail,
               cudaGetErrorString(cudaPeekAtLastError()));
  std::exit(1);
}

void finished(const char* what, int detail = 0) {
  require(cudaDeviceSynchronize() == cudaSuccess, what, detail);
}

// Memory that both sides see.
template <typename T>
T* shared(std::size_t items) {
  T* out = nullptr;
  require(cudaMallocManaged(&out, items * sizeof(T)) == cudaSuccess, "cudaMallocManaged");
  return out;
}

void require_result(const VerifyResult& seen, std::uint64_t mismatches, std::uint64_t first,
                    const char* what, int detail) {
  require(seen.mismatches == mismatches && seen.first_mismatch == first, what, detail);
}

template <typename T>
void check_terms(const Terms& terms, int name) {
  constexpr std::uint64_t rank = 3, first_index = 77;
  const TermModel<T> model(terms);
  T* data = shared<T>(count);
  auto* result = shared<VerifyResult>(1);
  require(launch_fill_terms(terms, rank, data, count, nullptr) == 0, "fill_terms", name);
  finished("fill_terms", name);
  for (std::uint64_t i = 0; i < count; ++i) {
    const T wanted = model.term(rank, i);
    require(std::memcmp(&data[i], &wanted, sizeof(T)) == 0, "term of device and host", name);
    data[i] = model.reduced(first_index + i);
  }
  for (const bool damaged : {false, true}) {
    if (damaged) reinterpret_cast<unsigned char*>(data + planted)[sizeof(T) - 1] ^= 1;
    require(launch_verify_terms(terms, first_index, data, count, result, nullptr) == 0,
            "verify_terms", name);
    finished("verify_terms", name);
    require_result(*result, damaged ? 1 : 0, damaged ? planted : no_mismatch, "reduced", name);
  }
  cudaFree(data);
  cudaFree(result);
}

void check_every_type() {
  for (int type = 0; type <= static_cast<int>(Element::fp8_e5m2); ++type) {
    for (int reduction = 0; reduction <= static_cast<int>(Reduce::avg); ++reduction) {
      for (const std::uint64_t ranks : {8, 6}) {
        const Terms terms{static_cast<Element>(type), static_cast<Reduce>(reduction), ranks, 5};
        dispatch(terms.type, [&](auto zero) {
          check_terms<decltype(zero)>(terms, type * 10 + reduction);
          return 0;
        });
      }
    }
  }
}

// Bytes that are no whole number of words, and elements of every width.
void check_words() {
  constexpr std::uint64_t seed = 9, first_word = 1234;
  constexpr std::size_t bytes = 80008 - 4;
  auto* data = shared<unsigned char>(bytes);
  auto* result = shared<VerifyResult>(1);
  require(launch_fill_words(data, bytes, seed, first_word, nullptr) == 0, "fill_words");
  finished("fill_words");
  for (std::size_t i = 0; i < bytes; ++i)
    require(data[i] == pattern_byte(first_word * 8 + i, seed), "byte of device and host");
  for (const int width : {1, 2, 4}) {
    for (const std::size_t at : {std::size_t{5003}, bytes - 1}) {
      for (const bool damaged : {false, true}) {
        data[at] ^= damaged ? 1 : 0;
        require(launch_verify_words(data, bytes, seed, first_word, width, result, nullptr) == 0,
                "verify_words", width);
        finished("verify_words", width);
        require_result(*result, damaged ? 1 : 0,
                       damaged ? at / static_cast<std::size_t>(width) : no_mismatch, "words",
                       width);
        data[at] ^= damaged ? 1 : 0;
      }
    }
  }
  std::memset(data, 0x5a, bytes);
  data[planted] = 0;
  require(launch_verify_byte(data, bytes, 0x5a, result, nullptr) == 0, "verify_byte");
  finished("verify_byte");
  require_result(*result, 1, planted, "guard", 0);
  cudaFree(data);
  cudaFree(result);
}

}  // namespace

int main() {
  int devices = 0;
  if (const cudaError_t e = cudaGetDeviceCount(&devices); e != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "skipped: %s\n", e == cudaSuccess ? "no device" : cudaGetErrorString(e));
    return skipped;
  }
  check_every_type();
  check_words();
  std::puts("collective data: device and host agree");
  return 0;
}
