// The body of row_kernels.h, compiled once per instruction set: CB_TRAINING_ISA names the
// namespace. It calls nothing that another file might compile with other instructions.
#pragma once

#include "bench/training/row_kernels.h"

namespace cb::training::CB_TRAINING_ISA {

constexpr int64_t kLanes = 16;  // sums are kept in this many parts, so that they vectorise

// e^x for float within 2 units of the last place: x = n·ln 2 + r, and a polynomial of r (the
// coefficients of Cephes' expf, Moshier 1989). Below −87 it is the smallest normal number's size.
inline float exponential(float x) {
  const float bounded = x > -87.0f ? (x < 88.0f ? x : 88.0f) : -87.0f;  // -87 for a NaN
  const float shifted = bounded * 1.44269504088896341f + 12582912.0f;   // rounds to an integer
  const float n = shifted - 12582912.0f;
  const float r = (bounded - n * 0.693359375f) + n * 2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  const float mantissa = p * r * r + r + 1.0f;
  const int32_t bits = (static_cast<int32_t>(n) + 127) << 23;
  // A NaN stays one.
  return x != x ? x : mantissa * __builtin_bit_cast(float, bits);
}
inline double exponential(double x) { return __builtin_exp(x); }

inline float square_root(float x) { return __builtin_sqrtf(x); }
inline double square_root(double x) { return __builtin_sqrt(x); }
inline float logarithm(float x) { return __builtin_logf(x); }
inline double logarithm(double x) { return __builtin_log(x); }
inline bool bits_not_finite(float x) {
  return (__builtin_bit_cast(uint32_t, x) & 0x7f800000u) == 0x7f800000u;
}
inline bool bits_not_finite(double x) {
  return (__builtin_bit_cast(uint64_t, x) & 0x7ff0000000000000u) == 0x7ff0000000000000u;
}

// Σ f(i) over [0, count): lanes first, then the lanes in order, so that the result depends on
// nothing else.
template <typename Real, typename F>
inline Real lane_sum(int64_t count, F f) {
  Real lanes[kLanes] = {};
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] += f(i + l);
  Real sum = 0;
  for (int64_t l = 0; l < kLanes; ++l) sum += lanes[l];
  for (int64_t i = whole; i < count; ++i) sum += f(i);
  return sum;
}

template <typename Real>
inline Real largest(const Real* x, int64_t count) {
  Real lanes[kLanes];
  for (int64_t l = 0; l < kLanes; ++l) lanes[l] = x[0];
  const int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes)
    for (int64_t l = 0; l < kLanes; ++l) lanes[l] = x[i + l] > lanes[l] ? x[i + l] : lanes[l];
  Real out = lanes[0];
  for (int64_t l = 1; l < kLanes; ++l) out = lanes[l] > out ? lanes[l] : out;
  for (int64_t i = whole; i < count; ++i) out = x[i] > out ? x[i] : out;
  return out;
}

// ---- the product: rows of B are added to a row of C, blocks of which stay in the cache ----
template <typename Real>
void product(const host_blas::Product<Real>& p) {
  constexpr int64_t kRows = 4, kDepth = 128, kColumns = 256;
  const auto [m, n, k] = p.shape;
  Real packed[kDepth * kColumns];
  for (int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const int64_t columns = n - j0 < kColumns ? n - j0 : kColumns;
    for (int64_t i = 0; i < m; ++i) {
      Real* c = p.c + i * p.ldc + j0;
      for (int64_t j = 0; j < columns; ++j) c[j] = p.beta == 0 ? Real(0) : p.beta * c[j];
    }
    for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
      const int64_t depth = k - k0 < kDepth ? k - k0 : kDepth;
      for (int64_t q = 0; q < depth; ++q)
        for (int64_t j = 0; j < columns; ++j)
          packed[q * kColumns + j] =
              p.transpose_b ? p.b[(j0 + j) * p.ldb + k0 + q] : p.b[(k0 + q) * p.ldb + j0 + j];
      for (int64_t i0 = 0; i0 < m; i0 += kRows) {
        const int64_t rows = m - i0 < kRows ? m - i0 : kRows;
        Real sums[kRows][kColumns] = {};
        for (int64_t q = 0; q < depth; ++q) {
          for (int64_t i = 0; i < rows; ++i) {
            const Real a = p.alpha * (p.transpose_a ? p.a[(k0 + q) * p.lda + i0 + i]
                                                    : p.a[(i0 + i) * p.lda + k0 + q]);
            for (int64_t j = 0; j < columns; ++j) sums[i][j] += a * packed[q * kColumns + j];
          }
        }
        for (int64_t i = 0; i < rows; ++i) {
          Real* c = p.c + (i0 + i) * p.ldc + j0;
          for (int64_t j = 0; j < columns; ++j) c[j] += sums[i][j];
        }
      }
    }
  }
}

// Written as vectors: compilers keep lanes of several rows in memory otherwise.
#if defined(__AVX512F__)
constexpr int64_t kVectorBytes = 64;
#elif defined(__AVX__)
constexpr int64_t kVectorBytes = 32;
#else
constexpr int64_t kVectorBytes = 16;
#endif
template <typename Real>
struct Vector {
  typedef Real Lanes __attribute__((vector_size(kVectorBytes)));
  static constexpr int64_t kCount = kVectorBytes / static_cast<int64_t>(sizeof(Real));
  Lanes lanes = {};

  // lanes += a·b, element by element
  void add_product(const Real* a, const Real* b) {
    Lanes x, y;
    __builtin_memcpy(&x, a, sizeof(Lanes));
    __builtin_memcpy(&y, b, sizeof(Lanes));
    lanes += x * y;
  }
  // Of all lanes, by halves, then what is left of k behind them.
  Real sum(const Real* a, const Real* b, int64_t left) const {
    Real parts[kCount];
    __builtin_memcpy(parts, &lanes, sizeof(Lanes));
    for (int64_t half = kCount / 2; half > 0; half /= 2)
      for (int64_t l = 0; l < half; ++l) parts[l] += parts[l + half];
    Real out = parts[0];
    for (int64_t q = 0; q < left; ++q) out += a[q] * b[q];
    return out;
  }
};

// Rows of A times rows of B: several of each at a time, so that what was loaded is used more than
// once. Every element of C is summed in the same order, however many stand beside it.
template <typename Real>
void dots_of_one_row(const host_blas::Product<Real>& p, int64_t row, int64_t column) {
  constexpr int64_t kStep = Vector<Real>::kCount;
  const Real *const a = p.a + row * p.lda, *const b0 = p.b + column * p.ldb;
  const Real *const b1 = b0 + p.ldb, *const b2 = b1 + p.ldb, *const b3 = b2 + p.ldb;
  const int64_t whole = p.shape.k / kStep * kStep, left = p.shape.k - whole;
  Vector<Real> s0, s1, s2, s3;
  for (int64_t q = 0; q < whole; q += kStep) {
    s0.add_product(a + q, b0 + q);
    s1.add_product(a + q, b1 + q);
    s2.add_product(a + q, b2 + q);
    s3.add_product(a + q, b3 + q);
  }
  Real* const c = p.c + row * p.ldc + column;
  c[0] = p.alpha * s0.sum(a + whole, b0 + whole, left);
  c[1] = p.alpha * s1.sum(a + whole, b1 + whole, left);
  c[2] = p.alpha * s2.sum(a + whole, b2 + whole, left);
  c[3] = p.alpha * s3.sum(a + whole, b3 + whole, left);
}

constexpr int64_t kAhead = 512;  // elements: two streams alone do not keep the memory busy

// Four rows of A with two of B.
template <typename Real>
void dots_of_four_rows(const host_blas::Product<Real>& p, int64_t row, int64_t column) {
  constexpr int64_t kStep = Vector<Real>::kCount;
  const Real *const a0 = p.a + row * p.lda, *const a1 = a0 + p.lda;
  const Real *const a2 = a1 + p.lda, *const a3 = a2 + p.lda;
  const Real *const b = p.b + column * p.ldb, *const d = b + p.ldb;
  const int64_t whole = p.shape.k / kStep * kStep, left = p.shape.k - whole;
  Vector<Real> s0, s1, s2, s3, t0, t1, t2, t3;
  for (int64_t q = 0; q < whole; q += kStep) {
    __builtin_prefetch(b + q + kAhead);
    __builtin_prefetch(d + q + kAhead);
    s0.add_product(a0 + q, b + q);
    s1.add_product(a1 + q, b + q);
    s2.add_product(a2 + q, b + q);
    s3.add_product(a3 + q, b + q);
    t0.add_product(a0 + q, d + q);
    t1.add_product(a1 + q, d + q);
    t2.add_product(a2 + q, d + q);
    t3.add_product(a3 + q, d + q);
  }
  Real* c = p.c + row * p.ldc + column;
  const auto write = [&](const Real* a, const Vector<Real>& s, const Vector<Real>& t) {
    c[0] = p.alpha * s.sum(a + whole, b + whole, left);
    c[1] = p.alpha * t.sum(a + whole, d + whole, left);
    c += p.ldc;
  };
  write(a0, s0, t0);
  write(a1, s1, t1);
  write(a2, s2, t2);
  write(a3, s3, t3);
}

template <typename Real>
void dot(const host_blas::Product<Real>& p, int64_t row, int64_t column) {
  constexpr int64_t kStep = Vector<Real>::kCount;
  const Real *const a = p.a + row * p.lda, *const b = p.b + column * p.ldb;
  const int64_t whole = p.shape.k / kStep * kStep;
  Vector<Real> s;
  for (int64_t q = 0; q < whole; q += kStep) s.add_product(a + q, b + q);
  p.c[row * p.ldc + column] = p.alpha * s.sum(a + whole, b + whole, p.shape.k - whole);
}

// Four columns at a time: all rows of A meet them while they are in the cache.
template <typename Real>
void few_rows(const host_blas::Product<Real>& p) {
  const int64_t m = p.shape.m, n = p.shape.n;
  int64_t j = 0;
  for (; j + 4 <= n; j += 4) {
    int64_t i = 0;
    for (; i + 4 <= m; i += 4) {
      dots_of_four_rows(p, i, j);
      dots_of_four_rows(p, i, j + 2);
    }
    for (; i < m; ++i) dots_of_one_row(p, i, j);
  }
  for (; j < n; ++j)
    for (int64_t i = 0; i < m; ++i) dot(p, i, j);
}

template <typename Real>
void rmsnorm(const Real* x, const Real* gain, Real* y, Real* scale, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r, x += width, y += width) {
    const Real squares = lane_sum<Real>(width, [&](int64_t i) { return x[i] * x[i]; });
    const Real s = Real(1) / square_root(squares / static_cast<Real>(width) + Real(1e-5));
    scale[r] = s;
    for (int64_t i = 0; i < width; ++i) y[i] = x[i] * s * gain[i];
  }
}

// With s = scale: dx = s·(g·dy) − x·s³/width·Σ(g·dy·x).
template <typename Real>
void rmsnorm_backward(const Real* dy, const Real* x, const Real* gain, const Real* scale, Real* dx,
                      Real* dgain, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r, x += width, dy += width, dx += width) {
    const Real s = scale[r];
    const Real dot = lane_sum<Real>(width, [&](int64_t i) { return gain[i] * dy[i] * x[i]; });
    const Real pull = dot * s * s * s / static_cast<Real>(width);
    for (int64_t i = 0; i < width; ++i) {
      dgain[i] += dy[i] * x[i] * s;
      dx[i] += s * gain[i] * dy[i] - x[i] * pull;
    }
  }
}

template <typename Real>
void rotate(Real* x, const Real* cosines, const Real* sines, int64_t rows, int64_t first,
            int64_t sequence, int64_t heads, int64_t dim, int64_t stride, Real direction) {
  const int64_t half = dim / 2;
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t position = (first + r) % sequence;
    const Real* c = cosines + position * half;
    const Real* s = sines + position * half;
    for (int64_t h = 0; h < heads; ++h) {
      Real* low = x + r * stride + h * dim;
      Real* high = low + half;
      for (int64_t i = 0; i < half; ++i) {
        const Real a = low[i], b = high[i];
        low[i] = a * c[i] - direction * b * s[i];
        high[i] = b * c[i] + direction * a * s[i];
      }
    }
  }
}

template <typename Real>
void softmax(Real* scores, Real* log_sums, const ScoreBlock& block) {
  for (int64_t r = 0; r < block.rows; ++r, scores += block.columns) {
    const int64_t seen = block.first + r + 1;
    const Real top = largest(scores, seen);
    for (int64_t i = 0; i < seen; ++i) scores[i] = exponential(scores[i] - top);
    const Real sum = lane_sum<Real>(seen, [&](int64_t i) { return scores[i]; });
    const Real factor = Real(1) / sum;
    for (int64_t i = 0; i < seen; ++i) scores[i] *= factor;
    for (int64_t i = seen; i < block.columns; ++i) scores[i] = 0;
    log_sums[r] = top + logarithm(sum);
  }
}

template <typename Real>
void probabilities(Real* scores, const Real* log_sums, const ScoreBlock& block) {
  for (int64_t r = 0; r < block.rows; ++r, scores += block.columns) {
    const int64_t seen = block.first + r + 1;
    for (int64_t i = 0; i < seen; ++i) scores[i] = exponential(scores[i] - log_sums[r]);
    for (int64_t i = seen; i < block.columns; ++i) scores[i] = 0;
  }
}

template <typename Real>
void softmax_backward(Real* dp, const Real* p, const Real* dots, Real scale,
                      const ScoreBlock& block) {
  for (int64_t r = 0; r < block.rows; ++r, dp += block.columns, p += block.columns)
    for (int64_t i = 0; i < block.columns; ++i) dp[i] = p[i] * (dp[i] - dots[r]) * scale;
}

template <typename Real>
void row_dots(const Real* a, const Real* b, Real* dots, int64_t rows, int64_t width,
              int64_t stride) {
  for (int64_t r = 0; r < rows; ++r, a += stride, b += stride)
    dots[r] = lane_sum<Real>(width, [&](int64_t i) { return a[i] * b[i]; });
}

template <typename Real>
void swiglu(const Real* gate_up, Real* out, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r, gate_up += 2 * width, out += width)
    for (int64_t i = 0; i < width; ++i) {
      const Real g = gate_up[i];
      out[i] = g / (Real(1) + exponential(-g)) * gate_up[width + i];
    }
}

template <typename Real>
void swiglu_backward(const Real* dout, Real* gate_up, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r, gate_up += 2 * width, dout += width)
    for (int64_t i = 0; i < width; ++i) {
      const Real g = gate_up[i], up = gate_up[width + i];
      const Real sigmoid = Real(1) / (Real(1) + exponential(-g));
      gate_up[i] = dout[i] * up * sigmoid * (Real(1) + g * (Real(1) - sigmoid));
      gate_up[width + i] = dout[i] * g * sigmoid;
    }
}

template <typename Real>
void row_max(const Real* x, Real* out, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r) out[r] = largest(x + r * width, width);
}

template <typename Real>
void exponentials(Real* x, const Real* max, Real* sums, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r, x += width) {
    for (int64_t i = 0; i < width; ++i) x[i] = exponential(x[i] - max[r]);
    sums[r] = lane_sum<Real>(width, [&](int64_t i) { return x[i]; });
  }
}

template <typename Real>
void scale_rows(Real* x, const Real* factors, int64_t rows, int64_t width) {
  for (int64_t r = 0; r < rows; ++r, x += width)
    for (int64_t i = 0; i < width; ++i) x[i] *= factors[r];
}

template <typename Real>
void add(Real* to, const Real* from, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] += from[i];
}

template <typename Real>
void adamw(Real* weights, const Real* gradient, Real* mean, Real* square, int64_t count,
           const AdamStep& step) {
  const auto b1 = static_cast<Real>(step.beta1), b2 = static_cast<Real>(step.beta2);
  const auto rate = static_cast<Real>(step.rate / step.correction1);
  const auto root = static_cast<Real>(1 / step.correction2);
  const auto epsilon = static_cast<Real>(step.epsilon);
  const auto keep = static_cast<Real>(1 - step.rate * step.decay);
  const auto scale = static_cast<Real>(step.scale);
  for (int64_t i = 0; i < count; ++i) {
    const Real g = gradient[i] * scale;
    const Real m = b1 * mean[i] + (1 - b1) * g;
    const Real v = b2 * square[i] + (1 - b2) * g * g;
    mean[i] = m;
    square[i] = v;
    weights[i] = keep * weights[i] - rate * m / (square_root(v * root) + epsilon);
  }
}

template <typename Real>
double sum_squares(const Real* x, int64_t count) {
  return lane_sum<double>(
      count, [&](int64_t i) { return static_cast<double>(x[i]) * static_cast<double>(x[i]); });
}

template <typename Real>
int64_t not_finite(const Real* x, int64_t count) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; ++i) found += bits_not_finite(x[i]) ? 1 : 0;
  return found;
}

template <typename Real>
constexpr RowKernels<Real> table_of(const char* isa) {
  return {isa,
          product<Real>,
          few_rows<Real>,
          rmsnorm<Real>,
          rmsnorm_backward<Real>,
          rotate<Real>,
          softmax<Real>,
          probabilities<Real>,
          softmax_backward<Real>,
          row_dots<Real>,
          swiglu<Real>,
          swiglu_backward<Real>,
          row_max<Real>,
          exponentials<Real>,
          scale_rows<Real>,
          add<Real>,
          adamw<Real>,
          sum_squares<Real>,
          not_finite<Real>};
}

}  // namespace cb::training::CB_TRAINING_ISA
