// Makes operands by grid-stride loops, one element a thread (fp4: two). The check computes each sum
// anew from the definition of the elements, so it shares neither memory nor units with what it
// checks.
#include <algorithm>

#include "kernels/gemm_data.h"
#include "kernels/launch.h"

namespace cb::kernels {
namespace {

constexpr unsigned threads_per_block = 256;
constexpr std::uint64_t max_blocks = 16384;

using Index = std::uint64_t;

__device__ Index first_index() { return Index{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ Index stride() { return Index{gridDim.x} * blockDim.x; }

__device__ void store(void* data, Number type, Index i, Index seed) {
  const double value = gemm_element(type, i, seed);
  switch (type) {
    case Number::fp64:
      static_cast<double*>(data)[i] = value;
      break;
    case Number::fp32:
    case Number::tf32:
      static_cast<float*>(data)[i] = static_cast<float>(value);
      break;
    case Number::fp16:
    case Number::bf16:
      static_cast<std::uint16_t*>(data)[i] = static_cast<std::uint16_t>(encode_float(value, type));
      break;
    case Number::int8:
      static_cast<std::int8_t*>(data)[i] = static_cast<std::int8_t>(value);
      break;
    case Number::fp4: {
      if (i % 2 == 1) break;  // the even element writes both, the lower nibble first
      const double next = gemm_element(type, i + 1, seed);
      static_cast<std::uint8_t*>(data)[i / 2] =
          static_cast<std::uint8_t>(encode_float(value, type) | encode_float(next, type) << 4);
      break;
    }
    default:
      static_cast<std::uint8_t*>(data)[i] = static_cast<std::uint8_t>(encode_float(value, type));
  }
}

__global__ void fill_operand(void* data, Number type, Index elements, Index seed) {
  for (Index i = first_index(); i < elements; i += stride()) store(data, type, i, seed);
}

__device__ double load(const void* d, Number stored, Index i) {
  switch (stored) {
    case Number::fp64:
      return static_cast<const double*>(d)[i];
    case Number::int32:
      return static_cast<const std::int32_t*>(d)[i];
    case Number::bf16:
      return __uint_as_float(std::uint32_t{static_cast<const std::uint16_t*>(d)[i]} << 16);
    case Number::fp16: {
      const std::uint16_t bits = static_cast<const std::uint16_t*>(d)[i];
      const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
      const double sign = (bits & 0x8000) != 0 ? -1.0 : 1.0;
      if (exponent == 31) return mantissa == 0 ? sign * INFINITY : NAN;
      return sign * (exponent == 0 ? ldexp(static_cast<double>(mantissa), -24)
                                   : ldexp(static_cast<double>(mantissa + 1024), exponent - 25));
    }
    default:
      return static_cast<const float*>(d)[i];
  }
}

__global__ void check_product(const void* d, ProductCheck c, ProductResult* result) {
  const Index rows = (c.m - c.row_offset + c.row_step - 1) / c.row_step;
  ProductResult found{0, 0, 0, no_element};
  for (Index i = first_index(); i < rows * c.n; i += stride()) {
    const Index row = c.row_offset + i % rows * c.row_step, column = i / rows;
    ExactElement exact;
    for (Index k = 0; k < c.k; ++k)
      exact.add(gemm_element(c.a, row * c.k + k, c.seed_a),
                gemm_element(c.b, column * c.k + k, c.seed_b));
    const Index at = column * c.m + row;
    const double value = load(d, c.stored, at);
    ++found.checked;
    const double limit = product_tolerance(exact, static_cast<double>(c.k), c.a, c.stored);
    if (fabs(value - exact.sum) <= limit) continue;  // false for NaN: NaN is wrong
    ++found.wrong;
    if (!isfinite(value)) ++found.not_finite;
    if (at < found.first) found.first = at;
  }
  if (found.checked == 0) return;
  using Wide = unsigned long long;
  atomicAdd(reinterpret_cast<Wide*>(&result->checked), static_cast<Wide>(found.checked));
  if (found.wrong == 0) return;
  atomicAdd(reinterpret_cast<Wide*>(&result->wrong), static_cast<Wide>(found.wrong));
  atomicAdd(reinterpret_cast<Wide*>(&result->not_finite), static_cast<Wide>(found.not_finite));
  atomicMin(reinterpret_cast<Wide*>(&result->first), static_cast<Wide>(found.first));
}

unsigned blocks_for(Index elements) {
  const Index blocks = (elements + threads_per_block - 1) / threads_per_block;
  return static_cast<unsigned>(std::clamp<Index>(blocks, 1, max_blocks));
}

}  // namespace

int launch_gemm_fill(void* data, Number type, std::uint64_t elements, std::uint64_t seed,
                     void* stream) {
  return launch<fill_operand>({blocks_for(elements), threads_per_block}, stream, data, type,
                              elements, seed);
}

int launch_gemm_check(const void* d, const ProductCheck& c, ProductResult* result, void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  if (c.row_step == 0 || c.row_offset >= c.m) return cudaErrorInvalidValue;
  if (auto e = cudaMemsetAsync(result, 0, sizeof *result, queue)) return e;
  // All bits set is no_element.
  if (auto e = cudaMemsetAsync(&result->first, 0xff, sizeof result->first, queue)) return e;
  const std::uint64_t rows = (c.m - c.row_offset + c.row_step - 1) / c.row_step;
  return launch<check_product>({blocks_for(rows * c.n), threads_per_block}, stream, d, c, result);
}

}  // namespace cb::kernels
