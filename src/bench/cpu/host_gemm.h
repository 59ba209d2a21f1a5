#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "bench/cpu/memory.h"
#include "bench/cpu/team.h"
#include "sys/cpu/host_blas.h"

// Matrix products C = A·B on the host by any of the libraries. Row-major; A is m×k, B k×n, C m×n.
namespace cb {

// Types of the operands. Their sums are fp64, fp32, fp32 and int32.
enum class GemmType { fp64, fp32, bf16, int8 };
GemmType gemm_type(std::string_view name);  // throws Error for an unknown name
const char* gemm_type_name(GemmType type);
// Why a library is no candidate for a type: "has no fp64 product".
std::string has_no_product(GemmType type);
size_t element_bytes(GemmType type);  // one element of A or B
size_t sum_bytes(GemmType type);      // one element of C

using GemmShape = host_blas::Shape;

// 2·M·N·K: one multiplication and one addition per term (Golub & Van Loan, Matrix Computations,
// §1.1).
double gemm_operations(const GemmShape& shape);

// Bytes of A, B and C together.
int64_t gemm_bytes(GemmType type, const GemmShape& shape);

uint16_t to_bf16(float value);  // rounds to nearest even; finite values only
float from_bf16(uint16_t bits);

// Operands on page-aligned memory. The team's threads touch it first.
class GemmData {
 public:
  // A and B are uniform in [-1, 1) (int8: -127…127). They depend on the seed alone, not on the
  // threads.
  GemmData(GemmType type, const GemmShape& shape, uint64_t seed, Team& team);

  GemmType type() const { return type_; }
  const GemmShape& shape() const { return shape_; }
  const void* a() const { return a_.get(); }
  const void* b() const { return b_.get(); }
  void* c() const { return c_.get(); }

  // Fills C with a value that no product gives (NaN, -2^31), so that an element that was never
  // written is found.
  void poison();
  // Makes the element in the middle of C wrong by more than any rounding does.
  void spoil();

 private:
  GemmType type_;
  GemmShape shape_;
  Pages<char> a_, b_, c_;
};

// An opened library, ready to multiply.
struct HostGemm {
  std::string library;  // "openblas", "blis", "onednn", "builtin"
  std::string version;
  std::string core;  // the kernel set in use
  std::function<void(const GemmData&)> multiply;
};

// Opens the library for one type. `core` (OpenBLAS only) forces a core type. Returns Absent if the
// library, or its routine for the type, does not exist.
std::variant<HostGemm, host_blas::Absent> open_host_gemm(const std::string& library,
                                                         const std::string& core, GemmType type,
                                                         Team& team);

}  // namespace cb
