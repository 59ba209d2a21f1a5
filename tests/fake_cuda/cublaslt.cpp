// The part of cuBLASLt that clusterbench calls, as a library that the tests open by its path. It
// refuses what the real one documents as refused: layouts, alignments, types, scales.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include "kernels/hash.h"
#include "tests/fake_cuda/fake.h"
#include "tests/fake_cuda/numbers.h"

using cb::kernels::Number;

namespace {

struct Desc {
  cublasComputeType_t compute;
  cudaDataType_t scale;
  bool transposed_a = false, transposed_b = false;
  const void *scales_a = nullptr, *scales_b = nullptr;
};
struct Layout {
  cudaDataType_t type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t batch = 1;
  int64_t step = 0;  // elements between the matrices of a batch
};
struct Preference {
  size_t workspace = 0;
  uint64_t units = ~uint64_t{0};
  uint32_t aligned[4] = {256, 256, 256, 256};  // bytes, of A, B, C and D
};

template <typename To, typename From>
To* real(From* opaque) {
  return reinterpret_cast<To*>(opaque);
}

Number number_of(cudaDataType_t type) {
  switch (type) {
    case CUDA_R_64F:
      return Number::fp64;
    case CUDA_R_32F:
      return Number::fp32;
    case CUDA_R_16F:
      return Number::fp16;
    case CUDA_R_16BF:
      return Number::bf16;
    case CUDA_R_8F_E4M3:
      return Number::fp8_e4m3;
    case CUDA_R_8F_E5M2:
      return Number::fp8_e5m2;
    case CUDA_R_8I:
      return Number::int8;
    case CUDA_R_32I:
      return Number::int32;
    default:
      return Number::fp4;
  }
}

// Types of A, B and D, and with which compute and scale type (cuBLAS documentation,
// cublasLtMatmul).
bool known(const Desc& d, cudaDataType_t a, cudaDataType_t b, cudaDataType_t out) {
  const auto is = [&](cudaDataType_t wa, cudaDataType_t wb, cudaDataType_t wd,
                      cublasComputeType_t compute, cudaDataType_t scale) {
    return a == wa && b == wb && out == wd && d.compute == compute && d.scale == scale;
  };
  constexpr auto k32 = CUBLAS_COMPUTE_32F;
  return is(CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F, CUDA_R_64F) ||
         is(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, k32, CUDA_R_32F) ||
         is(CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F) ||
         is(CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, k32, CUDA_R_32F) ||
         is(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, k32, CUDA_R_32F) ||
         is(CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, k32, CUDA_R_32F) ||
         is(CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, k32, CUDA_R_32F) ||
         is(CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16BF, k32, CUDA_R_32F) ||
         is(CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_32F, k32, CUDA_R_32F) ||
         is(CUDA_R_8F_E4M3, CUDA_R_8F_E5M2, CUDA_R_32F, k32, CUDA_R_32F) ||
         is(CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I) ||
         is(CUDA_R_4F_E2M1, CUDA_R_4F_E2M1, CUDA_R_16BF, k32, CUDA_R_32F);
}

bool narrow(cudaDataType_t type) { return fake::bits_of(number_of(type)) <= 8; }

// Narrow types: Aᵀ·B only, every leading dimension a multiple of 16 bytes; fp4 with both scales.
bool allowed(const Desc& d, const Layout& a, const Layout& b, const Layout& out) {
  if (!known(d, a.type, b.type, out.type)) return false;
  for (const Layout* l : {&a, &b, &out}) {
    if (l->leading < static_cast<int64_t>(l->rows)) return false;
    const int64_t bits = l->leading * fake::bits_of(number_of(l->type));
    if (narrow(a.type) && bits % 128 != 0) return false;
  }
  if (narrow(a.type) && (!d.transposed_a || d.transposed_b)) return false;
  if (a.type == CUDA_R_4F_E2M1 && (d.scales_a == nullptr || d.scales_b == nullptr)) return false;
  if (a.batch != out.batch || b.batch != out.batch) return false;
  const uint64_t k = d.transposed_a ? a.rows : a.columns;
  const uint64_t m = d.transposed_a ? a.columns : a.rows;
  const uint64_t of_b = d.transposed_b ? b.columns : b.rows;
  const uint64_t n = d.transposed_b ? b.rows : b.columns;
  return of_b == k && out.rows == m && out.columns == n;
}

// Bits of D for those operands; computed once for all GPUs and buffers that hold the same.
using Result = std::shared_ptr<const std::vector<unsigned char>>;

Result product(const Layout& a, const Layout& b, const Layout& d, const void* pa, const void* pb) {
  const Number ta = number_of(a.type), tb = number_of(b.type), td = number_of(d.type);
  const size_t k = a.rows, m = d.rows, n = d.columns;
  const size_t bytes_a = k * m * static_cast<size_t>(fake::bits_of(ta)) / 8;
  const size_t bytes_b = k * n * static_cast<size_t>(fake::bits_of(tb)) / 8;
  using cb::kernels::hash_bytes;
  static std::map<std::tuple<int, int, size_t, size_t, size_t, uint64_t, uint64_t>, Result> done;
  Result& out = done[{static_cast<int>(ta), static_cast<int>(td), m, n, k,
                      hash_bytes(static_cast<const unsigned char*>(pa), bytes_a),
                      hash_bytes(static_cast<const unsigned char*>(pb), bytes_b)}];
  if (out) return out;
  std::vector<double> va(k * m), vb(k * n);
  for (size_t i = 0; i < va.size(); ++i) va[i] = fake::load(pa, ta, i);
  for (size_t i = 0; i < vb.size(); ++i) vb[i] = fake::load(pb, tb, i);
  std::vector<unsigned char> bits(m * n * static_cast<size_t>(fake::bits_of(td)) / 8);
  for (size_t column = 0; column < n; ++column) {
    for (size_t row = 0; row < m; ++row) {
      double sum = 0;
      for (size_t i = 0; i < k; ++i) sum += va[row * k + i] * vb[column * k + i];
      const bool whole = td == Number::int32;
      fake::store(bits.data(), td, column * m + row, whole ? sum : cb::kernels::round_to(sum, td));
    }
  }
  return out = std::make_shared<const std::vector<unsigned char>>(std::move(bits));
}

// Whether D = Aᵀ·B of whole matrices: what gemm and burn multiply.
bool plain(const Desc& desc, const Layout& a, const Layout& b, const Layout& d) {
  const auto whole = [](const Layout& l) {
    return l.leading == static_cast<int64_t>(l.rows) && l.batch == 1;
  };
  return desc.transposed_a && !desc.transposed_b && whole(a) && whole(b) && whole(d);
}

double wide(double value) { return value; }
float wide(float value) { return value; }
float wide(uint16_t bfloat16) {
  const uint32_t bits = uint32_t{bfloat16} << 16;
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

// All that the layout's columns hold, as fp32.
std::vector<float> wide_operand(const void* data, const Layout& l) {
  std::vector<float> out(l.columns * static_cast<uint64_t>(l.leading));
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(fake::load(data, number_of(l.type), i));
  return out;
}
double scale_at(const void* scale) {
  return scale == nullptr ? 1 : static_cast<double>(fake::peek<float>(scale, 0));
}

// D = alpha·op(A)·op(B) + beta·D of matrices of any layout, or of a batch of them: D of fp32, the
// operands of fp32, bf16 or fp8; or all of fp64.
struct General {
  Desc desc;
  Layout a, b, d;
  double alpha, beta;

  template <typename T>
  double sum(const T* pa, const T* pb, uint64_t row, uint64_t column) const {
    const uint64_t k = desc.transposed_a ? a.rows : a.columns;
    const auto la = static_cast<uint64_t>(a.leading), lb = static_cast<uint64_t>(b.leading);
    double out = 0;
    for (uint64_t i = 0; i < k; ++i)
      out += static_cast<double>(wide(pa[desc.transposed_a ? row * la + i : i * la + row])) *
             static_cast<double>(wide(pb[desc.transposed_b ? i * lb + column : column * lb + i]));
    return out;
  }
  void run_fp8(const void* pa, const void* pb, float* pd) const {
    General scaled = *this;
    scaled.alpha *= scale_at(desc.scales_a) * scale_at(desc.scales_b);
    scaled.run(wide_operand(pa, a).data(), wide_operand(pb, b).data(), pd);
  }
  template <typename T, typename D>
  void run(const T* pa, const T* pb, D* pd) const {
    for (int32_t one = 0; one < d.batch; ++one, pa += a.step, pb += b.step, pd += d.step)
      for (uint64_t column = 0; column < d.columns; ++column)
        for (uint64_t row = 0; row < d.rows; ++row) {
          D& to = pd[column * static_cast<uint64_t>(d.leading) + row];
          const double product = alpha * sum(pa, pb, row, column);
          // D is not read where beta is 0: it may be NaN.
          to = static_cast<D>(beta == 0 ? product : product + beta * static_cast<double>(to));
        }
  }
};

bool aligned(const void* p, size_t to) { return reinterpret_cast<uintptr_t>(p) % to == 0; }

constexpr uint64_t kFast = 1, kSlow = 2, kRefused = 3;

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return 130100; }
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_NOT_SUPPORTED ? "not supported" : "some status";
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* out) {
  if (const int status = static_cast<int>(fake::number("blas", -1, 0)); status != 0)
    return static_cast<cublasStatus_t>(status);
  *out = real<cublasLtContext>(new int(0));
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  delete real<int>(handle);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t compute,
                                        cudaDataType_t scale) {
  *out = real<cublasLtMatmulDescOpaque_t>(new Desc{compute, scale});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete real<Desc>(desc);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t opaque,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t size) {
  Desc& desc = *real<Desc>(opaque);
  size_t wanted = 4;
  if (attribute == CUBLASLT_MATMUL_DESC_FAST_ACCUM) wanted = 1;
  if (attribute == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER ||
      attribute == CUBLASLT_MATMUL_DESC_B_SCALE_POINTER)
    wanted = 8;
  if (size != wanted) return CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA || attribute == CUBLASLT_MATMUL_DESC_TRANSB) {
    const bool transposed = fake::peek<int32_t>(value, 0) == CUBLAS_OP_T;
    (attribute == CUBLASLT_MATMUL_DESC_TRANSA ? desc.transposed_a : desc.transposed_b) = transposed;
  } else if (wanted == 8) {
    const auto* pointer = fake::peek<const void*>(value, 0);
    if (pointer == nullptr || !aligned(pointer, 16)) return CUBLAS_STATUS_INVALID_VALUE;
    (attribute == CUBLASLT_MATMUL_DESC_A_SCALE_POINTER ? desc.scales_a : desc.scales_b) = pointer;
  } else if (attribute == CUBLASLT_MATMUL_DESC_A_SCALE_MODE ||
             attribute == CUBLASLT_MATMUL_DESC_B_SCALE_MODE) {
    if (fake::peek<int32_t>(value, 0) != CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3)
      return CUBLAS_STATUS_INVALID_VALUE;
  } else if (attribute != CUBLASLT_MATMUL_DESC_FAST_ACCUM) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t leading) {
  *out = real<cublasLtMatrixLayoutOpaque_t>(new Layout{type, rows, columns, leading});
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t opaque,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t size) {
  Layout& layout = *real<Layout>(opaque);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && size == 4)
    layout.batch = fake::peek<int32_t>(value, 0);
  else if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && size == 8)
    layout.step = fake::peek<int64_t>(value, 0);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete real<Layout>(const_cast<cublasLtMatrixLayoutOpaque_t*>(layout));
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) {
  *out = real<cublasLtMatmulPreferenceOpaque_t>(new Preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete real<Preference>(preference);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t opaque,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t size) {
  Preference& preference = *real<Preference>(opaque);
  const int operand = attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES;
  if (operand >= 0 && operand < 4 && size == 4) {
    preference.aligned[operand] = fake::peek<uint32_t>(value, 0);
    return CUBLAS_STATUS_SUCCESS;
  }
  if (size != 8) return CUBLAS_STATUS_INVALID_VALUE;
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    preference.workspace = fake::peek<size_t>(value, 0);
  else if (attribute == CUBLASLT_MATMUL_PREF_IMPL_MASK)
    preference.units = fake::peek<uint64_t>(value, 0);
  else
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

// Three: a slow one, a fast one, and one that cublasLtMatmul refuses.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* count) {
  *count = 0;
  if (fake::number("blas_meets_death", fake::selected_device(), 0) != 0) {
    fake::kill(fake::selected_device());
    return CUBLAS_STATUS_INTERNAL_ERROR;
  }
  if (c != d || fake::text("refuse", -1) == "gemm" ||
      !allowed(*real<Desc>(desc), *real<const Layout>(a), *real<const Layout>(b),
               *real<const Layout>(d)))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const Preference& wanted = *real<Preference>(preference);
  const bool tensor = (wanted.units & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0;
  for (const uint64_t id : {kSlow, kFast, kRefused}) {
    if (*count >= most) break;
    cublasLtMatmulHeuristicResult_t& r = results[(*count)++];
    r = {};
    r.algo.data[0] = id;
    r.algo.data[1] =
        tensor ? CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA : CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA;
    for (const uint32_t bytes : wanted.aligned) r.algo.data[2] = r.algo.data[2] << 16 | bytes;
    r.workspaceSize = std::min<size_t>(wanted.workspace, 1 << 20);
    r.state = CUBLAS_STATUS_SUCCESS;
  }
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                 cublasLtMatmulAlgoCapAttributes_t attribute,
                                                 void* out, size_t size, size_t* written) {
  if (attribute != CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS || size != 8)
    return CUBLAS_STATUS_INVALID_VALUE;
  fake::poke(out, 0, algo->data[1]);
  *written = 8;
  return CUBLAS_STATUS_SUCCESS;
}

static const char* name_of(const Desc& desc, const Layout& a) {
  switch (number_of(a.type)) {
    case Number::fp64:
      return "fp64";
    case Number::fp32:
      return desc.compute == CUBLAS_COMPUTE_32F_FAST_TF32 ? "tf32" : "fp32";
    case Number::fp16:
      return "fp16";
    case Number::bf16:
      return "bf16";
    case Number::int8:
      return "int8";
    case Number::fp4:
      return "fp4";
    default:
      return "fp8";
  }
}

static double flops_of(const Desc& desc, const Layout& a) {
  const double all = fake::number("flops", -1, fake::flops_per_second);
  return fake::number(std::string("flops_") + name_of(desc, a), -1, all);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t opaque, const void* alpha,
                              const void* pa, cublasLtMatrixLayout_t la, const void* pb,
                              cublasLtMatrixLayout_t lb, const void* beta, const void* pc,
                              cublasLtMatrixLayout_t, void* pd, cublasLtMatrixLayout_t ld,
                              const cublasLtMatmulAlgo_t* algo, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  const Desc& desc = *real<Desc>(opaque);
  const Layout a = *real<const Layout>(la), b = *real<const Layout>(lb),
               d = *real<const Layout>(ld);
  if (algo->data[0] == kRefused) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!allowed(desc, a, b, d) || pc != pd) return CUBLAS_STATUS_INVALID_VALUE;
  const void* const operands[] = {pa, pb, pc, pd};
  for (int i = 0; i < 4; ++i) {  // as the heuristic was promised
    if (!aligned(operands[i], algo->data[2] >> (48 - 16 * i) & 0xffffU))
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (workspace == nullptr || !aligned(workspace, 256) || workspace_bytes > size_t{32} << 20)
    return CUBLAS_STATUS_INVALID_VALUE;
  const Number scale = number_of(desc.scale);
  const double by = fake::load(alpha, scale, 0), keep = fake::load(beta, scale, 0);
  const bool scaled = narrow(a.type) && d.type == CUDA_R_32F;
  const bool memoised = plain(desc, a, b, d) && by == 1 && keep == 0 && !scaled;
  if (!memoised && d.type != CUDA_R_32F && d.type != CUDA_R_64F) return CUBLAS_STATUS_NOT_SUPPORTED;
  const uint64_t k = desc.transposed_a ? a.rows : a.columns;
  const double flops = 2.0 * d.batch * static_cast<double>(d.rows * d.columns * k);
  const double rate = flops_of(desc, a) / (algo->data[0] == kFast ? 1 : 2);
  const bool flip = fake::flips(stream, "gemm");
  const bool lost = d.type == CUDA_R_64F && keep == 1 && fake::flips(stream, "update");
  const General general{desc, a, b, d, by, keep};
  const int code = fake::enqueue(stream, flops / rate, true, [=] {
    if (lost) return;
    if (!memoised) {
      if (d.type == CUDA_R_64F)
        general.run(static_cast<const double*>(pa), static_cast<const double*>(pb),
                    static_cast<double*>(pd));
      else if (scaled)
        general.run_fp8(pa, pb, static_cast<float*>(pd));
      else if (a.type == CUDA_R_16BF)
        general.run(static_cast<const uint16_t*>(pa), static_cast<const uint16_t*>(pb),
                    static_cast<float*>(pd));
      else
        general.run(static_cast<const float*>(pa), static_cast<const float*>(pb),
                    static_cast<float*>(pd));
      if (flip) static_cast<unsigned char*>(pd)[d.type == CUDA_R_64F ? 6 : 1] ^= 0x40;
      return;
    }
    const Result bits = product(a, b, d, pa, pb);
    std::copy(bits->begin(), bits->end(), static_cast<unsigned char*>(pd));
    if (flip) static_cast<unsigned char*>(pd)[bits->size() / 2 + 1] ^= 0x40;
  });
  return code == 0 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // extern "C"
