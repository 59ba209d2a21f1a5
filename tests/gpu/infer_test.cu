// The kernels of generating tokens on a real device against formulas of the host, and how fast a
// product of one row reads its weights. Exit 77 (skipped for CTest) where there is no device.
#include <cuda_runtime_api.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "kernels/infer.h"
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

// Memory that both sides see.
template <typename T>
T* room_for(std::int64_t count) {
  T* out = nullptr;
  require(cudaMallocManaged(&out, count * sizeof(T)) == cudaSuccess, "cudaMallocManaged");
  return out;
}

// Multiples of 1/8 in [-1, 1], which bf16 holds.
float* eighths(std::int64_t count, std::uint64_t seed) {
  auto* out = room_for<float>(count);
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(pattern_word(i, seed) % 17) / 8 - 1;
  return out;
}

const void* narrow_copy(const float* from, std::int64_t count) {
  auto* out = room_for<std::uint16_t>(count);
  require(launch_train_narrow({from, out, 1, 1, count, count, count}, nullptr) == 0, "narrow");
  return out;
}

void finished(int code, const char* what) {
  require(code == 0, what, code);
  require(cudaDeviceSynchronize() == cudaSuccess, what);
}

void near(double got, double wanted, const char* what) {
  require(std::abs(got - wanted) <= 2e-5 * std::fmax(1, std::abs(wanted)), what, got - wanted);
}

void check_product(std::int64_t rows, std::int64_t outputs, std::int64_t inputs) {
  float *x = eighths(rows * inputs, 1), *w = eighths(outputs * inputs, 2),
        *y = eighths(rows * outputs, 3);
  const void* kinds[] = {w, narrow_copy(w, outputs * inputs)};
  const void* operands[] = {x, narrow_copy(x, rows * inputs)};
  for (const bool narrow : {false, true}) {
    if (rows > infer_most_rows && !narrow) continue;
    finished(launch_infer_product({operands[narrow], kinds[narrow], y, rows, outputs, inputs,
                                   inputs, inputs, outputs, narrow},
                                  nullptr),
             "infer_product");
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t n = 0; n < outputs; ++n) {
        double sum = 0;
        for (std::int64_t i = 0; i < inputs; ++i)
          sum += double(x[r * inputs + i]) * w[n * inputs + i];
        near(y[r * outputs + n], sum, "product of few rows");
      }
  }
}

// Arrays of a layer in the type of its products.
struct Operand {
  float* wide;
  const void* narrow;
  Operand(std::int64_t count, std::uint64_t seed)
      : wide(eighths(count, seed)), narrow(narrow_copy(wide, count)) {}
  const void* of(bool bf16) const { return bf16 ? narrow : wide; }
};
float value_at(const void* array, std::int64_t i, bool bf16) {
  if (!bf16) return static_cast<const float*>(array)[i];
  const std::uint32_t bits = std::uint32_t{static_cast<const std::uint16_t*>(array)[i]} << 16;
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}
// Where both are rounded to bf16 they may be neighbours.
void all_near(const void* got, const void* wanted, std::int64_t count, bool bf16,
              const char* what) {
  for (std::int64_t i = 0; i < count; ++i) {
    const double is = value_at(got, i, bf16), should = value_at(wanted, i, bf16);
    require(std::abs(is - should) <= (bf16 ? 0.01 : 2e-5) * std::fmax(1, std::abs(should)), what,
            i);
  }
}

void check_attention(std::int64_t dim) {
  const std::int64_t sequences = 2, heads = 8, kv_heads = 2, capacity = 1100, past = 1001;
  const std::int64_t stride = (heads + 2 * kv_heads) * dim, kept = 2 * kv_heads * dim;
  const Operand cache(sequences * capacity * kept, 2);
  float *q = eighths(sequences * stride, 1), *out = eighths(sequences * heads * dim, 3),
        *position = eighths(1, 4),
        *parts = eighths(infer_attention_parts(sequences, heads, dim, capacity), 5);
  auto* narrow_out = room_for<std::uint16_t>(sequences * heads * dim);
  finished(0, "narrow");
  *position = past;
  for (const bool narrow : {false, true}) {
    InferAttention a{q,   cache.of(narrow), out, parts,    position, sequences, heads, kv_heads,
                     dim, stride,           0,   capacity, 0.1F,     narrow};
    finished(launch_infer_attention(a, nullptr), "infer_attention");
    for (std::int64_t b = 0; b < sequences; ++b)
      for (std::int64_t h = 0; h < heads; ++h) {
        const float* k = cache.wide + b * capacity * kept + h / (heads / kv_heads) * dim;
        double total = 0;
        std::vector<double> sums(dim);
        for (std::int64_t p = 0; p <= past; ++p) {
          double score = 0;
          for (std::int64_t i = 0; i < dim; ++i)
            score += double(q[b * stride + h * dim + i]) * k[p * kept + i];
          const double weight = std::exp(0.1 * score);
          total += weight;
          for (std::int64_t i = 0; i < dim; ++i)
            sums[i] += weight * k[p * kept + kv_heads * dim + i];
        }
        for (std::int64_t i = 0; i < dim; ++i)
          near(out[(b * heads + h) * dim + i], sums[i] / total, "attention over a cache");
      }
    const void* wanted = narrow_copy(out, sequences * heads * dim);
    a.out = narrow_out;
    a.narrow_out = true;
    finished(launch_infer_attention(a, nullptr), "infer_attention in bf16");
    all_near(narrow_out, wanted, sequences * heads * dim, true, "attention in bf16");
  }
}

// The largest logit, the choice of the first one that is as large, and the mark of a NaN.
void check_choice(std::int64_t width) {
  const std::int64_t rows = 3, first = 7;
  float *logits = eighths(rows * width, 1), *top = eighths(rows, 2), *marks = eighths(5, 3),
        *candidates = eighths(rows + 1, 4);
  for (std::int64_t r = 0; r < rows; ++r) logits[r * width + width - 1 - r] = 2;
  logits[width - 2] = 2;
  for (int i = 0; i < 5; ++i) marks[i] = 0;
  finished(launch_infer_row_max(logits, top, rows, width, nullptr), "infer_row_max");
  finished(launch_infer_choice({logits, top, marks, candidates, rows, width, first, 5}, nullptr),
           "infer_choice");
  const std::int64_t chosen[] = {width - 2, width - 2, width - 3};
  for (std::int64_t r = 0; r < rows; ++r) {
    require(top[r] == 2, "the largest logit", top[r]);
    require(candidates[r] == -static_cast<float>(first + chosen[r]), "the choice", candidates[r]);
  }
  require(candidates[rows] == 0, "no mark");
  finished(launch_infer_mark(logits, rows * width, marks + 4, nullptr), "infer_mark");
  require(marks[4] == 0, "no mark");
  logits[rows * width - 1] = NAN;
  finished(launch_infer_mark(logits, rows * width, marks + 4, nullptr), "infer_mark");
  require(marks[4] == 1, "a mark");
}

// A layer's launches against the separate kernels.
void check_layer(std::int64_t rows, bool bf16) {
  const std::int64_t heads = 4, kv_heads = 2, dim = 64, hidden = 256, capacity = 5, past = 3;
  const std::int64_t stride = (heads + 2 * kv_heads) * dim, kept = 2 * kv_heads * dim,
                     f = stride / 2;
  const Operand x(rows * hidden, 1), w(stride * hidden, 2), cache(rows * capacity * kept, 3),
      other(rows * capacity * kept, 3), gated(rows * f, 4);
  float *apart = eighths(rows * stride, 5), *together = eighths(rows * stride, 6),
        *angles = eighths(capacity * dim, 7), *position = eighths(1, 8), *mark = eighths(1, 9),
        *activated = eighths(rows * f, 10);
  const float* sines = angles + capacity * dim / 2;
  finished(0, "narrow");
  *position = past;
  *mark = 0;
  InferProduct p{x.of(bf16), w.of(bf16), apart, rows, stride, hidden, hidden, hidden, stride, bf16};
  finished(launch_infer_product(p, nullptr), "infer_product");

  finished(launch_train_swiglu(apart, activated, rows, f, nullptr), "train_swiglu");
  InferProduct of_gate = p;
  of_gate.y = const_cast<void*>(gated.of(bf16));
  of_gate.outputs = of_gate.stride_y = f;
  finished(launch_infer_gated(of_gate, nullptr), "infer_gated");
  const void* wanted = bf16 ? narrow_copy(activated, rows * f) : activated;
  finished(0, "narrow");
  all_near(gated.of(bf16), wanted, rows * f, bf16, "SwiGLU in a product");

  for (std::int64_t i = 0; i < rows * stride; ++i) together[i] = 1 + apart[i];
  finished(0, "sums");
  float* sums = eighths(rows * stride, 11);
  for (std::int64_t i = 0; i < rows * stride; ++i) sums[i] = together[i] + apart[i];
  p.y = together;
  finished(launch_infer_onto_stream(p, mark, nullptr), "infer_onto_stream");
  all_near(together, sums, rows * stride, false, "a product onto the stream");
  require(*mark == 0, "no mark");

  finished(launch_train_rotate(
               {apart, angles, sines, rows, 1, past, heads + kv_heads, dim, stride, 1, nullptr},
               nullptr),
           "train_rotate");
  finished(launch_train_append({apart + heads * dim, const_cast<void*>(cache.of(bf16)), rows, kept,
                                stride, 1, past, capacity, nullptr, bf16},
                               nullptr),
           "train_append");
  finished(launch_infer_into_cache(p,
                                   {const_cast<void*>(other.of(bf16)), angles, sines, position,
                                    heads, kv_heads, dim, 0, capacity},
                                   nullptr),
           "infer_into_cache");
  for (std::int64_t r = 0; r < rows; ++r)
    all_near(together + r * stride, apart + r * stride, heads * dim, false, "q in a product");
  all_near(other.of(bf16), cache.of(bf16), rows * capacity * kept, bf16, "k and v in a product");

  x.wide[rows * hidden - 1] = INFINITY;
  p.x = bf16 ? narrow_copy(x.wide, rows * hidden) : x.wide;
  finished(launch_infer_onto_stream(p, mark, nullptr), "infer_onto_stream");
  require(*mark == 1, "a mark");
}

void check_norm(std::int64_t rows, std::int64_t width) {
  float *x = eighths(rows * width, 1), *gain = eighths(width, 2), *y = eighths(rows * width, 3);
  auto* narrow = room_for<std::uint16_t>(rows * width);
  finished(launch_infer_norm({x, gain, y, rows, width, false}, nullptr), "infer_norm");
  finished(launch_infer_norm({x, gain, narrow, rows, width, true}, nullptr), "infer_norm");
  for (std::int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::int64_t i = 0; i < width; ++i) squares += double(x[r * width + i]) * x[r * width + i];
    for (std::int64_t i = 0; i < width; ++i)
      near(y[r * width + i],
           x[r * width + i] * gain[i] / std::sqrt(squares / static_cast<double>(width) + 1e-5),
           "RMSNorm");
  }
  const void* wanted = narrow_copy(y, rows * width);
  finished(0, "narrow");
  all_near(narrow, wanted, rows * width, true, "RMSNorm in bf16");
}

// Of a matrix of Llama 8B, read again and again beyond the caches.
template <typename Launch>
void print_rate(const char* what, std::int64_t rows, std::int64_t outputs, std::int64_t inputs,
                bool narrow, Launch start) {
  const std::int64_t bytes = outputs * inputs * (narrow ? 2 : 4);
  void* w = nullptr;
  float *wide = eighths(rows * inputs, 1), *y = eighths(rows * outputs, 2), milliseconds = 0;
  const void* x = narrow ? narrow_copy(wide, rows * inputs) : wide;
  require(cudaMalloc(&w, bytes) == cudaSuccess && cudaMemset(w, 0, bytes) == cudaSuccess, "room");
  const InferProduct p{x, w, y, rows, outputs, inputs, inputs, inputs, outputs, narrow};
  finished(start(p), what);
  cudaEvent_t begin, end;
  require(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess, "events");
  cudaEventRecord(begin);
  for (int i = 0; i < 10; ++i) require(start(p) == 0, what);
  cudaEventRecord(end);
  finished(0, what);
  require(cudaEventElapsedTime(&milliseconds, begin, end) == cudaSuccess, "time");
  std::printf("%s of %d rows reads %s weights at %.0f GB/s\n", what, static_cast<int>(rows),
              narrow ? "bf16" : "fp32", 1e-6 * 10 * static_cast<double>(bytes) / milliseconds);
  require(cudaFree(w) == cudaSuccess, "cudaFree");
}
void print_rates(std::int64_t rows, bool narrow) {
  float* mark = eighths(1, 4);
  print_rate("a product", rows, 128256, 4096, narrow,
             [](const InferProduct& p) { return launch_infer_product(p, nullptr); });
  print_rate("SwiGLU of a product", rows, 28672, 4096, narrow, [](InferProduct p) {
    p.outputs /= 2;
    return launch_infer_gated(p, nullptr);
  });
  print_rate("a product onto the stream", rows, 4096, 14336, narrow,
             [mark](const InferProduct& p) { return launch_infer_onto_stream(p, mark, nullptr); });
}

}  // namespace

int main() {
  int devices = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&devices); code != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "no CUDA device: %s\n", cudaGetErrorString(code));
    return 77;
  }
  check_product(1, 1000, 4096);
  check_product(3, 77, 515);
  check_product(8, 512, 1032);
  check_product(8, 512, 4096);
  check_product(5, 77, 1312);
  check_product(16, 512, 4096);
  for (const std::int64_t rows : {1, 2, 3, 8}) {
    check_layer(rows, false);
    check_layer(rows, true);
    check_norm(rows, 4096);
    check_norm(rows, 777);
  }
  check_layer(16, true);
  for (const std::int64_t dim : {6, 32, 64, 128, 256}) check_attention(dim);
  check_choice(128256);
  check_choice(1003);
  for (const std::int64_t rows : {1, 2, 4, 8}) {
    print_rates(rows, false);
    print_rates(rows, true);
  }
  print_rates(16, true);
  std::puts("kernels of generating tokens: as on the host");
}
