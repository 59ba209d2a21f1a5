// The one header through which host BLAS libraries are called: OpenBLAS, BLIS and oneDNN, opened at
// run time. All matrices are dense and row-major: A is m×k, B is k×n, C is m×n, C = A·B.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>

#include "core/messages/said.h"

namespace cb::host_blas {

struct Shape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

// The library or its routine is absent: what was tried, and why it did not work.
struct Absent {
  Said reason;
};

// The library that was opened.
struct Identity {
  std::string version;  // as the library states it, "OpenBLAS 0.3.21"
  std::string core;     // kernel set in use, "SkylakeX"; empty if the library does not tell
  std::string path;
};

// One product of parts of larger matrices: C = alpha·op(A)·op(B) + beta·C, where op transposes if
// asked. Rows are `lda`, `ldb`, `ldc` elements apart in memory.
template <typename Real>
struct Product {
  Shape shape;  // of op(A), op(B) and C
  const Real* a = nullptr;
  int64_t lda = 0;
  bool transpose_a = false;
  const Real* b = nullptr;
  int64_t ldb = 0;
  bool transpose_b = false;
  Real* c = nullptr;
  int64_t ldc = 0;
  Real alpha = 1;
  Real beta = 0;
};
using MultiplyParts32 = std::function<void(const Product<float>&)>;
using MultiplyParts64 = std::function<void(const Product<double>&)>;

// Solves L·X = B, with X in place of B. L is lower triangular of `order` rows; its diagonal is one
// and is not read. Here columns are contiguous: they are `ldl` and `ldb` elements apart.
struct UnitLower {
  int64_t order = 0;
  int64_t columns = 0;  // of B
  const double* l = nullptr;
  int64_t ldl = 0;
  double* b = nullptr;
  int64_t ldb = 0;
};
using SolveUnitLower = std::function<void(const UnitLower&)>;

using Multiply64 = std::function<void(const Shape&, const double* a, const double* b, double* c)>;
using Multiply32 = std::function<void(const Shape&, const float* a, const float* b, float* c)>;

// OpenBLAS or BLIS: fp64 and fp32.
struct Cblas {
  Identity identity;
  Multiply64 fp64;
  Multiply32 fp32;
  MultiplyParts32 parts32;
  MultiplyParts64 parts64;
  SolveUnitLower solve64;  // empty if the library has no dtrsm
};

// oneDNN's matrix product on the CPU: fp32, bf16 (bits in uint16_t) with fp32 sums, and int8 with
// int32 sums. A call that fails throws Error with the library's status.
struct Onednn {
  Identity identity;
  Multiply32 fp32;
  MultiplyParts32 parts32;
  std::function<void(const Shape&, const uint16_t* a, const uint16_t* b, float* c)> bf16;
  std::function<void(const Shape&, const int8_t* a, const int8_t* b, int32_t* c)> int8;
};

// Each function first sets the number of threads, and OpenBLAS's core type (empty: its own guess),
// in this process's environment, because the libraries read it only when they are loaded. The
// libraries' threads inherit the calling thread's affinity mask. Path overrides:
// CLUSTERBENCH_OPENBLAS, CLUSTERBENCH_BLIS, CLUSTERBENCH_ONEDNN.
std::variant<Cblas, Absent> open_openblas(const std::string& core, int threads);
std::variant<Cblas, Absent> open_blis(int threads);
std::variant<Onednn, Absent> open_onednn(int threads);

}  // namespace cb::host_blas
