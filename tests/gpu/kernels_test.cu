// The kernels of gemm, bandwidth and burn on a real device against the same definitions on the
// host. Exit 77 (skipped for CTest) where there is no device, with CUDA's own reason on stderr.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "kernels/gemm_data.h"
#include "kernels/hash.h"
#include "kernels/march.h"
#include "kernels/sm_chain.h"
#include "kernels/stream.h"

using namespace cb::kernels;

namespace {

constexpr int skipped = 77;
constexpr std::uint64_t seed = 11;

void require(bool condition, const char* what, long long detail = 0) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s (%lld), last CUDA error: %s\n", what, detail,
               cudaGetErrorString(cudaPeekAtLastError()));
  std::exit(1);
}

void finished(const char* what) { require(cudaDeviceSynchronize() == cudaSuccess, what); }

// Memory that both sides see.
template <typename T>
T* shared(std::size_t count) {
  T* out = nullptr;
  require(cudaMallocManaged(&out, count * sizeof(T)) == cudaSuccess, "cudaMallocManaged");
  return out;
}

void check_operands() {
  constexpr std::uint64_t count = 4096;
  auto* data = shared<unsigned char>(8 * count);
  for (const Number type : {Number::fp16, Number::bf16, Number::fp8_e4m3, Number::fp8_e5m2,
                            Number::fp4, Number::int8, Number::fp32, Number::tf32, Number::fp64}) {
    const int name = static_cast<int>(type);
    require(launch_gemm_fill(data, type, count, seed, nullptr) == 0, "gemm_fill", name);
    finished("gemm_fill");
    for (std::uint64_t i = 0; i < count; ++i) {
      const double value = gemm_element(type, i, seed);
      bool same = false;
      if (type == Number::fp64) {
        same = reinterpret_cast<double*>(data)[i] == value;
      } else if (type == Number::fp32 || type == Number::tf32) {
        same = reinterpret_cast<float*>(data)[i] == value;
      } else if (type == Number::int8) {
        same = reinterpret_cast<signed char*>(data)[i] == value;
      } else if (type == Number::fp4) {
        same = (data[i / 2] >> (i % 2 * 4) & 15) == encode_float(value, type);
      } else if (type == Number::fp16 || type == Number::bf16) {
        same = reinterpret_cast<std::uint16_t*>(data)[i] == encode_float(value, type);
      } else {
        same = data[i] == encode_float(value, type);
      }
      require(same, "operand of device and host differ", name * 10000 + static_cast<int>(i));
    }
  }
  cudaFree(data);
}

// A product computed on the host passes, and each kind of damage is seen.
void check_product() {
  constexpr std::uint64_t m = 64, n = 32, k = 128;
  auto* d = shared<float>(m * n);
  auto* result = shared<ProductResult>(1);
  for (std::uint64_t column = 0; column < n; ++column) {
    for (std::uint64_t row = 0; row < m; ++row) {
      double sum = 0;
      for (std::uint64_t i = 0; i < k; ++i)
        sum += gemm_element(Number::fp32, row * k + i, seed) *
               gemm_element(Number::fp32, column * k + i, seed + 1);
      d[column * m + row] = static_cast<float>(sum);
    }
  }
  ProductCheck check{Number::fp32, Number::fp32, Number::fp32, m, n, k, seed, seed + 1, 1, 0};
  const auto run = [&] {
    require(launch_gemm_check(d, check, result, nullptr) == 0, "gemm_check");
    finished("gemm_check");
    return *result;
  };
  const ProductResult clean = run();
  require(clean.checked == m * n && clean.wrong == 0 && clean.first == no_element, "clean product");
  d[700] *= 1.01F;
  d[900] = NAN;
  const ProductResult damaged = run();
  require(damaged.wrong == 2 && damaged.not_finite == 1 && damaged.first == 700, "damaged product",
          static_cast<long long>(damaged.wrong));
  check.row_step = 8;
  check.row_offset = 3;
  require(run().checked == 8 * n, "rows checked");
  cudaFree(d);
  cudaFree(result);
}

void check_hash() {
  constexpr std::size_t bytes = 1 << 20;
  auto* data = shared<unsigned char>(bytes);
  auto* copy = shared<unsigned char>(bytes);
  auto* result = shared<HashResult>(1);
  auto* difference = shared<CompareResult>(1);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern_byte(i, seed) & 0x3f;
  std::memcpy(copy, data, bytes);
  const auto hash = [&] {
    require(launch_hash(data, bytes, 16, 8, result, nullptr) == 0, "hash");
    finished("hash");
    return *result;
  };
  require(hash().hash == hash_bytes(data, bytes), "hash of device and host differ");
  require(hash().not_finite == 0, "nothing is NaN");
  require(launch_damage(data, 777, 13, false, nullptr) == 0, "damage");
  finished("damage");
  require(hash().hash == hash_bytes(data, bytes), "hash after damage");
  require(hash().hash != hash_bytes(copy, bytes), "damage is seen");
  require(launch_compare(data, copy, bytes, difference, nullptr) == 0, "compare");
  finished("compare");
  require(difference->words == 1 && difference->first == 777, "place of the damage");
  require(launch_damage(data, 778, 0, true, nullptr) == 0, "damage");
  finished("damage");
  require(hash().not_finite == 4, "four NaNs of 16 bits",
          static_cast<long long>(result->not_finite));
  cudaFree(data);
  cudaFree(copy);
  cudaFree(result);
  cudaFree(difference);
}

void check_march() {
  constexpr std::size_t words = 100003;
  auto* data = shared<std::uint64_t>(words);
  auto* result = shared<MarchResult>(1);
  for (int t = 0; t < march_tests; ++t) {
    const auto test = static_cast<March>(t);
    if (!march_turns(test)) continue;
    for (std::uint64_t step = 0; step < march_steps(test); step += 7) {
      *result = {0, ~std::uint64_t{0}, 0};
      require(launch_march_write(data, words, test, step, nullptr) == 0, "march_write", t);
      for (const bool inverted : {false, true})
        require(launch_march_turn(data, words, test, step, inverted, result, nullptr) == 0,
                "march_turn", t);
      finished("march");
      require(result->wrong == 0, "clean memory", t);
      require(data[words - 1] == march_word(test, step, words - 1, false), "written back", t);
      data[12345] ^= 0x40;
      require(launch_march_turn(data, words, test, step, false, result, nullptr) == 0, "turn", t);
      finished("march");
      require(result->wrong == 1 && result->first == 12345 && result->bits == 0x40, "planted", t);
    }
  }
  // Turned by some words, and one of them wrong.
  const std::uint64_t shift = march_shift_words;
  for (std::size_t i = 0; i < words; ++i)
    data[i] = march_word(March::block_move, 0, (i + words - shift) % words, false);
  data[4] ^= 0x40;
  *result = {0, ~std::uint64_t{0}, 0};
  require(launch_march_compare(data, words, March::block_move, 0, shift, result, nullptr) == 0,
          "march_compare");
  finished("march");
  require(result->wrong == 1 && result->first == 4 && result->bits == 0x40, "turned", 0);
  cudaFree(data);
  cudaFree(result);
}

void check_chain(int sms) {
  constexpr std::uint32_t iterations = 1000;
  const unsigned blocks = static_cast<unsigned>(sms) * 8;
  auto* results = shared<ChainResult>(blocks);
  const std::uint64_t wanted = chain_block_result(iterations);
  std::memset(results, 0, blocks * sizeof(ChainResult));
  // What was wrong in the first of three launches is kept.
  for (const std::int64_t damaged : {5, -1, -1})
    require(launch_chain(results, blocks, iterations, wanted, damaged, nullptr) == 0, "chain");
  finished("chain");
  std::set<std::uint32_t> seen;
  for (unsigned b = 0; b < blocks; ++b) {
    require((results[b].value == wanted) == (b != 5), "chain of device and host", b);
    require(results[b].wrong == (b == 5 ? 1U : 0U), "wrong launches", b);
    seen.insert(results[b].sm);
  }
  require(static_cast<int>(seen.size()) == sms, "every SM took part",
          static_cast<long long>(seen.size()));
  cudaFree(results);
}

void check_stream() {
  constexpr std::size_t elements = 1000002;
  double *a = shared<double>(elements), *b = shared<double>(elements),
         *c = shared<double>(elements);
  auto* result = shared<TriadResult>(1);
  auto* sum = shared<std::uint64_t>(1);
  require(launch_triad_fill(b, c, elements, seed, nullptr) == 0, "triad_fill");
  for (int way = 0; way < sweeps; ++way) {
    require(cudaMemset(a, 0xff, elements * sizeof *a) == cudaSuccess, "poison");
    require(launch_triad(a, b, c, elements, static_cast<Sweep>(way), nullptr) == 0, "triad", way);
    require(launch_triad_check(a, elements, seed, result, nullptr) == 0, "triad_check");
    finished("triad");
    require(result->wrong == 0, "triad", static_cast<long long>(result->wrong));
  }
  require(a[elements - 1] == triad_result(elements - 1, seed), "triad of device and host");
  a[4711] = 0;
  require(launch_triad_check(a, elements, seed, result, nullptr) == 0, "triad_check");
  finished("triad");
  require(result->wrong == 1 && result->first == 4711, "planted element");
  require(launch_copy(c, b, elements * 8, nullptr) == 0, "copy");
  *sum = 0;
  require(launch_read(b, elements * 8, sum, nullptr) == 0, "read");
  finished("copy and read");
  require(std::memcmp(b, c, elements * 8) == 0, "copy");
  std::uint64_t wanted = 0;
  for (std::size_t i = 0; i < elements; ++i) {
    std::uint64_t word = 0;
    std::memcpy(&word, b + i, 8);
    wanted += word;
  }
  require(*sum == wanted, "sum of what was read");
  auto* lines = shared<std::uint64_t>(4 * chase_line_bytes / 8);
  for (std::uint64_t i = 0; i < 4; ++i) lines[i * chase_line_bytes / 8] = (i + 3) % 4;
  *sum = 0;
  for (int i = 0; i < 2; ++i) require(launch_chase(lines, 3, sum, nullptr) == 0, "chase");
  finished("chase");
  require(*sum == 2, "end of the chase", static_cast<long long>(*sum));
  cudaFree(a);
  cudaFree(b);
  cudaFree(c);
  cudaFree(result);
  cudaFree(sum);
  cudaFree(lines);
}

}  // namespace

int main() {
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "skipped: no usable GPU: %s\n", cudaGetErrorString(error));
    return skipped;
  }
  int sms = 0;
  require(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0) == cudaSuccess, "SMs");
  check_operands();
  check_product();
  check_hash();
  check_march();
  check_chain(sms);
  check_stream();
  std::puts("kernels agree with the host");
}
