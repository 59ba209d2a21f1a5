// The one header through which cuBLASLt is called. It is opened at run time
// (CLUSTERBENCH_CUBLASLT_LIBRARY overrides the path). Before that, the library's own environment
// variables switch off emulated fp64 and fp32.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/error.h"
#include "sys/gpu/cuda/cuda.h"

namespace cb::cublaslt {

struct Absent {
  Said reason;
};

// The library cannot compute such a product: not on this GPU, not in this version, or not with this
// algorithm.
class Unsupported : public Error {
 public:
  using Error::Error;
};

struct Table;

class Library {
 public:
  explicit Library(std::shared_ptr<const Table> table) : table_(std::move(table)) {}
  std::string version() const;  // "13.1.0.3"
  const std::shared_ptr<const Table>& table() const { return table_; }

 private:
  std::shared_ptr<const Table> table_;
};

std::variant<Library, Absent> open();

// One way in which the library computes a product. The bytes are the library's own: they are valid
// only for its version and the GPU's architecture.
struct Algorithm {
  std::array<uint64_t, 8> bytes{};
  size_t workspace_bytes = 0;
  auto operator<=>(const Algorithm&) const = default;
};

// D = Aᵀ·B, column-major: A is k×m, B is k×n, D is m×n. gpu_dtypes() lists the names for `dtype`.
// fp64_vector and fp32 never use tensor cores; for fp64 the library chooses. D is stored as fp64,
// fp32 (fp32, tf32), fp16, bf16 (bf16, fp8, fp4) or int32. fp8_e5m2 multiplies e5m2 by e4m3,
// because no GPU multiplies e5m2 by e5m2. Belongs to the device that was selected when it was made.
class Matmul {
 public:
  // Throws Unsupported if the library does not know the type.
  Matmul(const Library& library, const std::string& dtype, int64_t m, int64_t n, int64_t k);
  ~Matmul();
  Matmul(Matmul&& other) noexcept;
  Matmul(const Matmul&) = delete;
  Matmul& operator=(const Matmul&) = delete;

  // Returns the library's proposals, most promising first; empty if it cannot compute this product.
  std::vector<Algorithm> proposals(int most, size_t workspace_bytes) const;

  // Returns the units that the algorithm computes with: "tensor cores", "vector units", or "" if
  // the library does not say.
  std::string units(const Algorithm& algorithm) const;

  // Queues the product. Throws Unsupported if the library refuses, Error if the GPU fails.
  void run(const Algorithm& algorithm, const void* a, const void* b, void* d, void* workspace,
           const cuda::Stream& stream) const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace cb::cublaslt
