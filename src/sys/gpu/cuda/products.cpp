// A row-major matrix is the transposed column-major one, so the library computes Cᵀ =
// op(B)ᵀ·op(A)ᵀ: its A is our B.
#include "sys/gpu/cuda/products.h"

#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>

#include "sys/gpu/cuda/cublaslt_table.h"

namespace cb::cublaslt {
namespace {

// Bytes to which an operand and all that follow it in a batch are aligned; the library's algorithms
// rely on what they are promised, 256 unless told.
uint32_t alignment_of(const void* data, int64_t step, int64_t bytes) {
  const auto bits = reinterpret_cast<uintptr_t>(data) | static_cast<uintptr_t>(step * bytes);
  uint32_t out = 256;
  while (bits % out != 0) out /= 2;
  return out;
}

}  // namespace

// Bytes of an operand's and a result's element, and what the library calls their types.
struct ProductTypes {
  const char* name;
  int64_t bytes, result_bytes;
  cudaDataType_t a, b, result;
  cublasComputeType_t compute;
  bool tensor_cores;       // allowed
  bool fast_sums = false;  // of eight bits: with fewer bits than fp32 has
};
constexpr auto kSums = CUBLAS_COMPUTE_32F;
constexpr ProductTypes kFp32{"fp32", 4, 4, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, kSums, false};
constexpr ProductTypes kBf16{"bf16", 2, 4, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, kSums, true};
constexpr ProductTypes kFp64{"fp64", 8, 8, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F,
                             true};
constexpr ProductTypes kFp8{"fp8", 1,    4,   CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F,
                            kSums, true, true};
constexpr ProductTypes kFp8Gradient{"fp8",          1,          4,     CUDA_R_8F_E5M2,
                                    CUDA_R_8F_E4M3, CUDA_R_32F, kSums, true};

static const ProductTypes& types_of(const RowMajorProduct& p) {
  if (p.eight) return p.eight->gradient ? kFp8Gradient : kFp8;
  return p.bf16 ? kBf16 : kFp32;
}

// A product of any type, but for what it is multiplied by.
struct Products::Shape {
  explicit Shape(const RowMajorProduct& p)
      : types(types_of(p)),
        m(p.m),
        n(p.n),
        k(p.k),
        lda(p.lda),
        ldb(p.ldb),
        ldc(p.ldc),
        a(p.a),
        b(p.b),
        c(p.c),
        transpose_a(p.transpose_a),
        transpose_b(p.transpose_b),
        batch(p.batch),
        step_a(p.step_a),
        step_b(p.step_b),
        step_c(p.step_c) {
    if (p.eight) unit_a = p.eight->unit_a, unit_b = p.eight->unit_b;
  }
  explicit Shape(const RowMajorProduct64& p)
      : types(kFp64),
        m(p.m),
        n(p.n),
        k(p.k),
        lda(p.lda),
        ldb(p.ldb),
        ldc(p.ldc),
        a(p.a),
        b(p.b),
        c(p.c) {}

  const ProductTypes& types;
  int64_t m, n, k, lda, ldb, ldc;
  const void *a, *b;
  void* c;
  bool transpose_a = false, transpose_b = false;
  int32_t batch = 1;
  int64_t step_a = 0, step_b = 0, step_c = 0;
  const float *unit_a = nullptr, *unit_b = nullptr;

  uint32_t alignment_a() const { return alignment_of(a, step_a, types.bytes); }
  uint32_t alignment_b() const { return alignment_of(b, step_b, types.bytes); }
  uint32_t alignment_c() const { return alignment_of(c, step_c, types.result_bytes); }
};

// One shape's way to be computed.
struct Products::Plan {
  explicit Plan(std::shared_ptr<const Table> table) : t(std::move(table)) {}
  ~Plan() {
    for (cublasLtMatrixLayout_t layout : {a, b, c})
      if (layout != nullptr) t->layout_destroy(layout);
    if (desc != nullptr) t->desc_destroy(desc);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  void lay_out(cublasLtMatrixLayout_t& to, cudaDataType_t type, int64_t rows, int64_t columns,
               int64_t leading, int32_t batch, int64_t step) const {
    check_call(*t,
               t->layout_create(&to, type, static_cast<uint64_t>(rows),
                                static_cast<uint64_t>(columns), leading),
               "cublasLtMatrixLayoutCreate");
    const auto set = [&](cublasLtMatrixLayoutAttribute_t attribute, const auto& value) {
      check_call(*t, t->layout_set(to, attribute, &value, sizeof value),
                 "cublasLtMatrixLayoutSetAttribute");
    };
    if (batch == 1) return;
    set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
    set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, step);
  }

  template <typename T>
  void describe(cublasLtMatmulDescAttributes_t attribute, const T& value) const {
    check_call(*t, t->desc_set(desc, attribute, &value, sizeof value),
               "cublasLtMatmulDescSetAttribute");
  }
  void set_transpose(cublasLtMatmulDescAttributes_t attribute, bool transpose) const {
    describe(attribute, int32_t{transpose ? CUBLAS_OP_T : CUBLAS_OP_N});
  }
  // Products of one shape are of many matrices, each with a unit of its own.
  void set_units(const Shape& p) const {
    if (p.unit_a == nullptr) return;
    describe(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, p.unit_b);
    describe(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, p.unit_a);
  }

  void choose(cublasLtHandle_t handle, const Shape& p) {
    cublasLtMatmulPreference_t preference = nullptr;
    check_call(*t, t->preference_create(&preference), "cublasLtMatmulPreferenceCreate");
    const std::shared_ptr<void> held(
        preference, [this, preference](void*) { t->preference_destroy(preference); });
    const auto set = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check_call(*t, t->preference_set(preference, attribute, &value, sizeof value),
                 "cublasLtMatmulPreferenceSetAttribute");
    };
    set(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, kWorkspaceBytes);
    if (!p.types.tensor_cores)
      set(CUBLASLT_MATMUL_PREF_IMPL_MASK, ~uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK});
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, p.alignment_b());
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, p.alignment_a());
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, p.alignment_c());
    set(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, p.alignment_c());
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status =
        t->heuristic(handle, desc, a, b, c, c, preference, 1, &found, &count);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED || (status == CUBLAS_STATUS_SUCCESS && count == 0))
      throw Unsupported(
          fmt::format("cuBLASLt has no algorithm for {}×{}×{} in {}", p.m, p.n, p.k, p.types.name));
    check_call(*t, status, "cublasLtMatmulAlgoGetHeuristic");
    check_call(*t, found.state, "cublasLtMatmulAlgoGetHeuristic");
    algorithm = found.algo;
    workspace_bytes = found.workspaceSize;
  }

  std::shared_ptr<const Table> t;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, c = nullptr;
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace_bytes = 0;
};

// What decides how a product is computed.
using ProductKey =
    std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, bool, bool, int32_t, int64_t,
               int64_t, int64_t, uint32_t, uint32_t, uint32_t, const ProductTypes*>;

struct Products::Parts {
  explicit Parts(const Library& library) : t(library.table()), workspace(kWorkspaceBytes) {
    check_call(*t, t->create(&handle), "cublasLtCreate");
  }
  ~Parts() {
    plans.clear();
    if (handle != nullptr) t->destroy(handle);
  }
  Parts(const Parts&) = delete;
  Parts& operator=(const Parts&) = delete;

  std::shared_ptr<const Table> t;
  cublasLtHandle_t handle = nullptr;
  std::map<ProductKey, Plan> plans = {};
  cuda::DeviceMemory workspace;
};

Products::Products(const Library& library) : parts_(std::make_unique<Parts>(library)) {}
Products::~Products() = default;

Products::Plan& Products::plan_of(const Shape& p) {
  const ProductKey key{p.m,
                       p.n,
                       p.k,
                       p.lda,
                       p.ldb,
                       p.ldc,
                       p.transpose_a,
                       p.transpose_b,
                       p.batch,
                       p.step_a,
                       p.step_b,
                       p.step_c,
                       p.alignment_a(),
                       p.alignment_b(),
                       p.alignment_c(),
                       &p.types};
  const auto [found, is_new] = parts_->plans.try_emplace(key, parts_->t);
  Plan& plan = found->second;
  if (!is_new) return plan;
  try {
    check_call(*plan.t, plan.t->desc_create(&plan.desc, p.types.compute, p.types.result),
               "cublasLtMatmulDescCreate");
    plan.set_transpose(CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b);
    plan.set_transpose(CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a);
    if (p.types.fast_sums) plan.describe(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
    plan.set_units(p);
    plan.lay_out(plan.a, p.types.b, p.transpose_b ? p.k : p.n, p.transpose_b ? p.n : p.k, p.ldb,
                 p.batch, p.step_b);
    plan.lay_out(plan.b, p.types.a, p.transpose_a ? p.m : p.k, p.transpose_a ? p.k : p.m, p.lda,
                 p.batch, p.step_a);
    plan.lay_out(plan.c, p.types.result, p.n, p.m, p.ldc, p.batch, p.step_c);
    plan.choose(parts_->handle, p);
  } catch (const Error&) {
    parts_->plans.erase(found);
    throw;
  }
  return plan;
}

void Products::queue(const Shape& p, const void* alpha, const void* beta,
                     const cuda::Stream& stream) {
  const Plan& plan = plan_of(p);
  plan.set_units(p);
  check_call(*plan.t,
             plan.t->matmul(parts_->handle, plan.desc, alpha, p.b, plan.a, p.a, plan.b, beta, p.c,
                            plan.c, p.c, plan.c, &plan.algorithm, parts_->workspace.data(),
                            plan.workspace_bytes, static_cast<cudaStream_t>(stream.handle())),
             "cublasLtMatmul", true);
}

void Products::run(const RowMajorProduct& p, const cuda::Stream& stream) {
  queue(Shape(p), &p.alpha, &p.beta, stream);
}
void Products::run(const RowMajorProduct64& p, const cuda::Stream& stream) {
  queue(Shape(p), &p.alpha, &p.beta, stream);
}

std::string Products::units(const RowMajorProduct64& product) {
  return units_of(*parts_->t, plan_of(Shape(product)).algorithm);
}

}  // namespace cb::cublaslt
