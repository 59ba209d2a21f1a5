// Products of many shapes by cuBLASLt, for work that multiplies many different matrices. The
// library's first proposal computes each shape, so that a program does the same every time.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "sys/gpu/cuda/cublaslt.h"

namespace cb::cublaslt {

// Operands in eight bits, of a product with B transposed and A not. Their elements are multiples of
// *unit_a and *unit_b, which lie on the device, aligned to 16 bytes.
struct EightBits {
  const float* unit_a = nullptr;
  const float* unit_b = nullptr;
  bool gradient = false;  // A is E5M2, and sums are exact to fp32; else E4M3, and sums are fast
};

// C (m×n) = alpha·op(A)·op(B) + beta·C of row-major matrices, C of fp32, A and B of fp32, bf16 or
// eight bits; or `batch` of them, whose operands are step_a, step_b and step_c elements apart. C is
// not read where beta is 0.
struct RowMajorProduct {
  int64_t m = 0, n = 0, k = 0;
  const void* a = nullptr;
  int64_t lda = 0;
  bool transpose_a = false;
  const void* b = nullptr;
  int64_t ldb = 0;
  bool transpose_b = false;
  float* c = nullptr;
  int64_t ldc = 0;
  float alpha = 1, beta = 0;
  int32_t batch = 1;
  int64_t step_a = 0, step_b = 0, step_c = 0;
  bool bf16 = false;  // of A and B; sums are fp32
  std::optional<EightBits> eight = {};
};

// C (m×n) = alpha·A·B + beta·C of row-major matrices of fp64.
struct RowMajorProduct64 {
  int64_t m = 0, n = 0, k = 0;
  const double* a = nullptr;
  int64_t lda = 0;
  const double* b = nullptr;
  int64_t ldb = 0;
  double* c = nullptr;
  int64_t ldc = 0;
  double alpha = 1, beta = 0;
};

// Belongs to the device that was selected when it was made. fp32 is multiplied without tensor
// cores and without tf32; for fp64 the library chooses.
class Products {
 public:
  explicit Products(const Library& library);
  ~Products();
  Products(const Products&) = delete;
  Products& operator=(const Products&) = delete;

  // Queues the product. Throws Unsupported if the library has no way to compute it, Error if the
  // GPU fails.
  void run(const RowMajorProduct& product, const cuda::Stream& stream);
  void run(const RowMajorProduct64& product, const cuda::Stream& stream);
  // The units that compute it: "tensor cores", "vector units", or "" if the library does not say.
  std::string units(const RowMajorProduct64& product);
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

 private:
  struct Shape;
  struct Plan;
  struct Parts;
  Plan& plan_of(const Shape& shape);
  void queue(const Shape& shape, const void* alpha, const void* beta, const cuda::Stream& stream);
  std::unique_ptr<Parts> parts_;
};

}  // namespace cb::cublaslt
