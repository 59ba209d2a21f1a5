// Attention without scores in memory on a real device: against formulas of the host, bit by bit the
// same again, and how fast it is. Exit 77 (skipped for CTest) where there is no device.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/pattern.h"
#include "kernels/train.h"

using namespace cb::kernels;

namespace {

void require(bool condition, const char* what, double detail = 0) {
  if (condition) return;
  std::fprintf(stderr, "failed: %s (%g), last CUDA error: %s\n", what, detail,
               cudaGetErrorString(cudaPeekAtLastError()));
  std::exit(1);
}

template <typename T>
T* shared(std::int64_t count) {
  T* out = nullptr;
  require(cudaMallocManaged(&out, count * sizeof(T)) == cudaSuccess, "cudaMallocManaged");
  return out;
}

double value_of(std::uint16_t bits) {
  const std::uint32_t word = std::uint32_t{bits} << 16;
  float out = 0;
  std::memcpy(&out, &word, sizeof out);
  return double(out);
}
// A number that bf16 has, in (-2, 2).
std::uint16_t number(std::int64_t i, std::uint64_t seed) {
  const std::uint64_t word = pattern_word(i, seed);
  return static_cast<std::uint16_t>((word >> 8 & 0x8000U) | (0x3f00U + (word & 0xffU)));
}

struct Attention {
  std::int64_t batch, sequence, heads, kv_heads, dim;
  std::int64_t stride = (heads + 2 * kv_heads) * dim, wide = heads * dim, rows = batch * sequence;
  std::uint16_t* qkv = shared<std::uint16_t>(rows * stride);
  std::uint16_t* narrow = shared<std::uint16_t>(rows * wide);
  float *out = shared<float>(rows * wide), *dout = shared<float>(rows * wide);
  float *sums = shared<float>(rows * heads), *dqkv = shared<float>(rows * stride);
  float* dots = shared<float>(train_flash_dots(batch, sequence, heads));

  double of(std::int64_t row, std::int64_t part, std::int64_t d) const {
    return value_of(qkv[row * stride + part * dim + d]);
  }
  TrainFlash forward() const { return {qkv, out, sums, batch, sequence, heads, kv_heads, dim}; }
  TrainFlashBackward backward() const {
    return {qkv, out, dout, sums, dqkv, narrow, dots, batch, sequence, heads, kv_heads, dim};
  }
};

Attention filled(std::int64_t batch, std::int64_t sequence, std::int64_t heads,
                 std::int64_t kv_heads, std::int64_t dim) {
  Attention a{batch, sequence, heads, kv_heads, dim};
  for (std::int64_t i = 0; i < a.rows * a.stride; ++i) {
    a.qkv[i] = number(i, 1);
    a.dqkv[i] = NAN;
  }
  for (std::int64_t i = 0; i < a.rows * a.wide; ++i) {
    a.dout[i] = static_cast<float>(value_of(number(i, 2)));
    a.out[i] = NAN;
  }
  return a;
}

void run(const Attention& a) {
  require(launch_train_flash(a.forward(), nullptr) == 0, "train_flash");
  require(launch_train_flash_backward(a.backward(), nullptr) == 0, "train_flash_backward");
  require(cudaDeviceSynchronize() == cudaSuccess, "attention");
}

void within(double got, double wanted, double limit, const char* what) {
  require(std::abs(got - wanted) <= limit, what, got - wanted);
}

// Rounding to bf16 once, and what sums of fp32 and exponentials of the device add.
constexpr double kRounding = 0x1p-8, kSums = 2e-4;

// Of one query and one key: probability, its gradient, and the sum of out·dout.
struct Pair {
  double p, dp, dot;
  double ds() const { return p * (dp - dot); }
  double limit() const {
    return kRounding * std::abs(ds()) + kSums * p * (std::abs(dp) + std::abs(dot) + 1);
  }
};
Pair pair_of(const Attention& a, std::int64_t first, std::int64_t head, std::int64_t i,
             std::int64_t j, double log_sum) {
  const std::int64_t k = a.heads + head / (a.heads / a.kv_heads), v = k + a.kv_heads;
  double score = 0, dp = 0, dot = 0;
  for (std::int64_t d = 0; d < a.dim; ++d) {
    const std::int64_t at = (first + i) * a.wide + head * a.dim + d;
    score += a.of(first + i, head, d) * a.of(first + j, k, d);
    dp += double(a.dout[at]) * a.of(first + j, v, d);
    dot += double(a.dout[at]) * double(a.out[at]);
  }
  return {std::exp(score / std::sqrt(double(a.dim)) - log_sum), dp, dot};
}

// Output, log sum and gradient of one query.
void check_query(const Attention& a, std::int64_t b, std::int64_t head, std::int64_t i) {
  const std::int64_t first = b * a.sequence, k = a.heads + head / (a.heads / a.kv_heads);
  const double scale = 1 / std::sqrt(double(a.dim));
  std::vector<Pair> pairs;
  double sum = 0;
  for (std::int64_t j = 0; j <= i; ++j) {
    pairs.push_back(pair_of(a, first, head, i, j, 0));
    sum += pairs.back().p;
  }
  within(a.sums[(b * a.heads + head) * a.sequence + i], std::log(sum), 1e-4, "log sum");
  for (std::int64_t d = 0; d < a.dim; ++d) {
    double out = 0, sizes = 0, dq = 0, limit = 1e-5;
    for (std::int64_t j = 0; j <= i; ++j) {
      Pair one = pairs[j];
      one.p /= sum;
      const double v = a.of(first + j, k + a.kv_heads, d), key = a.of(first + j, k, d);
      out += one.p * v;
      sizes += one.p * std::abs(v);
      dq += scale * one.ds() * key;
      limit += scale * one.limit() * std::abs(key);
    }
    within(a.out[(first + i) * a.wide + head * a.dim + d], out, (kRounding + kSums) * sizes + 1e-6,
           "attention");
    within(a.dqkv[(first + i) * a.stride + head * a.dim + d], dq, limit, "gradient of a query");
  }
}

void check_key(const Attention& a, std::int64_t b, std::int64_t kv, std::int64_t j) {
  const std::int64_t first = b * a.sequence, share = a.heads / a.kv_heads;
  const double scale = 1 / std::sqrt(double(a.dim));
  std::vector<double> dk(a.dim), dv(a.dim), k_limit(a.dim, 1e-5), v_limit(a.dim, 1e-5);
  for (std::int64_t head = kv * share; head < (kv + 1) * share; ++head)
    for (std::int64_t i = j; i < a.sequence; ++i) {
      const Pair one = pair_of(a, first, head, i, j, a.sums[(b * a.heads + head) * a.sequence + i]);
      for (std::int64_t d = 0; d < a.dim; ++d) {
        const double q = a.of(first + i, head, d);
        const double dout = a.dout[(first + i) * a.wide + head * a.dim + d];
        dk[d] += scale * one.ds() * q;
        k_limit[d] += scale * one.limit() * std::abs(q);
        dv[d] += one.p * dout;
        v_limit[d] += (kRounding + kSums) * one.p * std::abs(dout);
      }
    }
  const float* row = a.dqkv + (first + j) * a.stride + (a.heads + kv) * a.dim;
  for (std::int64_t d = 0; d < a.dim; ++d) {
    within(row[d], dk[d], k_limit[d], "gradient of a key");
    within(row[a.kv_heads * a.dim + d], dv[d], v_limit[d], "gradient of a value");
  }
}

void check_all(std::int64_t sequence, std::int64_t heads, std::int64_t kv_heads, std::int64_t dim) {
  const Attention a = filled(2, sequence, heads, kv_heads, dim);
  run(a);
  for (std::int64_t b = 0; b < a.batch; ++b)
    for (std::int64_t i = 0; i < sequence; ++i) {
      for (std::int64_t head = 0; head < heads; ++head) check_query(a, b, head, i);
      for (std::int64_t kv = 0; kv < kv_heads; ++kv) check_key(a, b, kv, i);
    }
}

template <typename Launch>
double seconds_of(Launch launch) {
  constexpr int times = 10;
  cudaEvent_t from = nullptr, to = nullptr;
  require(cudaEventCreate(&from) == cudaSuccess && cudaEventCreate(&to) == cudaSuccess, "events");
  require(launch() == 0 && launch() == 0, "launch");
  require(cudaEventRecord(from) == cudaSuccess, "event");
  for (int i = 0; i < times; ++i) require(launch() == 0, "launch");
  float milliseconds = 0;
  require(cudaEventRecord(to) == cudaSuccess && cudaEventSynchronize(to) == cudaSuccess, "event");
  require(cudaEventElapsedTime(&milliseconds, from, to) == cudaSuccess, "event");
  return double(milliseconds) / 1e3 / times;
}

// A slice of a model of 8 billion weights: some rows against the host, and rates.
void check_large(std::int64_t dim) {
  const Attention a = filled(1, 4096, 32, 8, dim);
  run(a);
  for (const std::int64_t i : {0, 1, 63, 64, 127, 128, 2049, 4095}) {
    check_query(a, 0, 31 - i % 32, i);
    check_key(a, 0, i % 8, i);
  }
  const std::vector<float> before(a.dqkv, a.dqkv + a.rows * a.stride);
  const double forward = seconds_of([&] { return launch_train_flash(a.forward(), nullptr); });
  const double backward =
      seconds_of([&] { return launch_train_flash_backward(a.backward(), nullptr); });
  require(cudaDeviceSynchronize() == cudaSuccess, "attention");
  require(std::memcmp(before.data(), a.dqkv, before.size() * sizeof(float)) == 0,
          "the same gradients again, bit by bit");
  const double flop = 2.0 * a.sequence * a.sequence * a.wide;  // causal: half of 4·s²·wide
  std::printf(
      "attention of 4096 x 32 heads x %d, causal: forward %.0f TFLOP/s (%.0f us), backward "
      "%.0f TFLOP/s (%.0f us)\n",
      int(dim), flop / forward / 1e12, forward * 1e6, 2.5 * flop / backward / 1e12, backward * 1e6);
}

}  // namespace

int main() {
  int devices = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no CUDA device: %s\n", cudaGetErrorString(code));
    return 77;
  }
  for (const std::int64_t dim : {64, 128}) {
    check_all(1, 1, 1, dim);
    check_all(130, 4, 2, dim);
    check_all(257, 3, 1, dim);
    check_large(dim);
  }
  std::puts("attention without scores in memory: as on the host");
}
