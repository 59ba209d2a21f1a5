// The kernels of a training step on a real device against formulas of the host. Exit 77 (skipped
// for CTest) where there is no device.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "kernels/pattern.h"
#include "kernels/train.h"

using namespace cb::kernels;

namespace {

constexpr std::int64_t rows = 300, width = 517;

void require(bool condition, const char* what, double detail = 0) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s (%g), last CUDA error: %s\n", what, detail,
               cudaGetErrorString(cudaPeekAtLastError()));
  std::exit(1);
}

// Memory that both sides see, with numbers in [-1, 1).
template <typename T = float>
T* shared(std::int64_t count, std::uint64_t seed = 0) {
  T* out = nullptr;
  require(cudaMallocManaged(&out, count * sizeof(T)) == cudaSuccess, "cudaMallocManaged");
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = static_cast<T>(
        static_cast<double>(static_cast<std::int64_t>(pattern_word(i, seed)) >> 11) * 0x1p-52);
  return out;
}

void finished(int code, const char* what) {
  require(code == 0, what, code);
  require(cudaDeviceSynchronize() == cudaSuccess, what);
}

void near(double got, double wanted, const char* what) {
  require(std::abs(got - wanted) <= 2e-5 * std::fmax(1, std::abs(wanted)), what, got - wanted);
}

void check_norm() {
  float *x = shared(rows * width, 1), *gain = shared(width, 2), *y = shared(rows * width),
        *scale = shared(rows);
  finished(launch_train_norm({x, gain, y, scale, rows, width}, nullptr), "train_norm");
  for (std::int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::int64_t i = 0; i < width; ++i) squares += double(x[r * width + i]) * x[r * width + i];
    const double s = 1 / std::sqrt(squares / width + 1e-5);
    near(scale[r], s, "scale of a norm");
    for (std::int64_t i = 0; i < width; ++i)
      near(y[r * width + i], x[r * width + i] * s * gain[i], "norm");
  }
}

// E5M2 is the upper half of fp16: its bytes are compared by that format's values.
double value_of_e5m2(std::uint8_t bits) {
  const int exponent = bits >> 2 & 31, mantissa = bits & 3;
  const double size =
      exponent == 0 ? std::ldexp(mantissa, -16) : std::ldexp(4 + mantissa, exponent - 17);
  return (bits & 0x80) != 0 ? -size : size;
}

void check_eight() {
  constexpr std::int64_t tall = 304, wide = 528;
  float* x = shared(tall * wide, 1);
  auto* plain = reinterpret_cast<std::uint8_t*>(shared(tall * wide / 4));
  auto* turned = reinterpret_cast<std::uint8_t*>(shared(tall * wide / 4));
  auto* unit = reinterpret_cast<TrainUnit*>(shared(4));
  x[77] = 2;
  finished(launch_train_eight({x, plain, turned, unit, tall, wide, wide, true}, nullptr),
           "train_eight");
  near(unit->unit, 2.0 / 57344, "unit of a matrix in eight bits");
  for (std::int64_t r = 0; r < tall; ++r)
    for (std::int64_t c = 0; c < wide; ++c) {
      const double wanted = x[r * wide + c], got = value_of_e5m2(plain[r * wide + c]) * unit->unit;
      require(std::abs(got - wanted) <= std::abs(wanted) / 8 + 1e-9, "eight bits", got - wanted);
      require(turned[c * tall + r] == plain[r * wide + c], "eight bits, turned", c);
    }
}

void check_softmax() {
  float *scores = shared(rows * width, 1), *before = shared(rows * width, 1), *sums = shared(rows);
  finished(launch_train_softmax({scores, sums, 1, rows, width, 100, rows}, nullptr),
           "train_softmax");
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::int64_t i = 0; i <= 100 + r; ++i) sum += std::exp(double(before[r * width + i]));
    near(sums[r], std::log(sum), "log sum");
    for (std::int64_t i = 0; i < width; ++i)
      near(scores[r * width + i], i <= 100 + r ? std::exp(double(before[r * width + i])) / sum : 0,
           "softmax");
  }
}

void check_embedding() {
  float *dout = shared(rows * width, 1), *table = shared(7 * width, 2),
        *wanted = shared(7 * width, 2);
  auto* tokens = shared<std::int32_t>(rows);
  for (std::int64_t r = 0; r < rows; ++r) tokens[r] = static_cast<std::int32_t>(r * r % 9);
  finished(launch_train_embed_backward(dout, table, {tokens, rows, width, 1, 7}, nullptr),
           "train_embed_backward");
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t i = 0; i < width && tokens[r] >= 1 && tokens[r] < 8; ++i)
      wanted[(tokens[r] - 1) * width + i] += dout[r * width + i];
  for (std::int64_t i = 0; i < 7 * width; ++i)
    require(table[i] == wanted[i], "gradients of the embedding, in their order", double(i));
}

void check_hash_and_squares() {
  const std::int64_t count = rows * width;
  float* x = shared(count, 3);
  auto* result = shared<std::uint64_t>(2);
  double *parts = shared<double>(train_sum_parts(count)), *sum = shared<double>(1);
  finished(launch_train_hash(x, count - 1, reinterpret_cast<HashResult*>(result), nullptr),
           "train_hash");
  require(result[0] == hash_bytes(reinterpret_cast<unsigned char*>(x), 4 * (count - 1)), "hash");
  require(result[1] == 0, "numbers that are not finite");
  finished(launch_train_squares(x, count, parts, sum, nullptr), "train_squares");
  double wanted = 0;
  for (std::int64_t i = 0; i < count; ++i) wanted += double(x[i]) * x[i];
  near(*sum / wanted, 1, "sum of squares");
}

}  // namespace

int main() {
  int devices = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no CUDA device: %s\n", cudaGetErrorString(code));
    return 77;
  }
  check_norm();
  check_eight();
  check_softmax();
  check_embedding();
  check_hash_and_squares();
  std::puts("kernels of a training step: as on the host");
}
