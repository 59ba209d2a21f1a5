#include "sys/gpu/cuda/cublaslt.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include <fmt/format.h>

#include "core/error.h"
#include "sys/gpu/cublaslt_file.h"
#include "sys/gpu/cuda/cublaslt_table.h"

namespace cb::cublaslt {

namespace {

// Since CUDA 13.0 update 2 the library may compute fp64 and fp32 on the integer and bf16 units.
void forbid_emulation() {
  ::setenv("CUBLAS_EMULATE_DOUBLE_PRECISION", "0", 1);
  ::setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "0", 1);
  ::unsetenv("CUBLAS_EMULATION_STRATEGY");
  ::unsetenv("NVIDIA_TF32_OVERRIDE");  // 0 would turn tf32 products into fp32 ones
}

// Fills the table. Returns the name of the first function that is missing, or "".
std::string load(const DynamicLibrary& library, Table& t) {
  std::string missing;
  const auto need = [&](auto& member, const char* name) {
    member = library.symbol<std::remove_pointer_t<std::remove_reference_t<decltype(member)>>>(name);
    if (member == nullptr && missing.empty()) missing = name;
  };
  need(t.create, "cublasLtCreate");
  need(t.destroy, "cublasLtDestroy");
  need(t.version, "cublasLtGetVersion");
  need(t.matmul, "cublasLtMatmul");
  need(t.desc_create, "cublasLtMatmulDescCreate");
  need(t.desc_destroy, "cublasLtMatmulDescDestroy");
  need(t.desc_set, "cublasLtMatmulDescSetAttribute");
  need(t.layout_create, "cublasLtMatrixLayoutCreate");
  need(t.layout_destroy, "cublasLtMatrixLayoutDestroy");
  need(t.layout_set, "cublasLtMatrixLayoutSetAttribute");
  need(t.preference_create, "cublasLtMatmulPreferenceCreate");
  need(t.preference_destroy, "cublasLtMatmulPreferenceDestroy");
  need(t.preference_set, "cublasLtMatmulPreferenceSetAttribute");
  need(t.heuristic, "cublasLtMatmulAlgoGetHeuristic");
  need(t.capability, "cublasLtMatmulAlgoCapGetAttribute");
  t.status_string = library.symbol<decltype(::cublasLtGetStatusString)>("cublasLtGetStatusString");
  return missing;
}

// Asks the device that the calling thread has selected. Returns the error with which any call of
// CUDA fails once the device has failed; empty while the device answers.
std::string device_failure() {
  try {
    cuda::memory_info();
    return "";
  } catch (const Error& e) {
    return e.what();
  }
}

struct Types {
  cudaDataType_t a, b, d, scale;
  cublasComputeType_t compute;
};

// Headers have these only since CUDA 12.8; the numbers are part of the library's interface.
constexpr auto kFp4 = static_cast<cudaDataType_t>(33);  // CUDA_R_4F_E2M1
constexpr auto kScaleModeA = static_cast<cublasLtMatmulDescAttributes_t>(31);
constexpr auto kScaleModeB = static_cast<cublasLtMatmulDescAttributes_t>(32);
constexpr int32_t kVec16Ue4m3 = 1;

Types types_of(const std::string& dtype) {
  constexpr auto k32 = CUBLAS_COMPUTE_32F;
  if (dtype == "fp64" || dtype == "fp64_vector")
    return {CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
  if (dtype == "fp32") return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, k32};
  if (dtype == "tf32")
    return {CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32};
  if (dtype == "fp16") return {CUDA_R_16F, CUDA_R_16F, CUDA_R_16F, CUDA_R_32F, k32};
  if (dtype == "bf16") return {CUDA_R_16BF, CUDA_R_16BF, CUDA_R_16BF, CUDA_R_32F, k32};
  if (dtype == "fp8_e4m3") return {CUDA_R_8F_E4M3, CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, k32};
  if (dtype == "fp8_e5m2") return {CUDA_R_8F_E5M2, CUDA_R_8F_E4M3, CUDA_R_16BF, CUDA_R_32F, k32};
  if (dtype == "int8") return {CUDA_R_8I, CUDA_R_8I, CUDA_R_32I, CUDA_R_32I, CUBLAS_COMPUTE_32I};
  if (dtype == "fp4") return {kFp4, kFp4, CUDA_R_16BF, CUDA_R_32F, k32};
  throw Error(fmt::format("cuBLASLt: no type {}", dtype));
}

// Selects the units that may compute the product: "fp64_vector" and "fp32" exclude tensor cores.
uint64_t units_mask(const std::string& dtype) {
  const bool vector = dtype == "fp64_vector" || dtype == "fp32";
  return vector ? ~uint64_t{CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK} : ~uint64_t{0};
}

int64_t rounded(int64_t value, int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

}  // namespace

void check_call(const Table& t, cublasStatus_t status, const char* call, bool queued) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  const std::string what = fmt::format(
      "{}: {}", call,
      t.status_string != nullptr ? t.status_string(status)
                                 : fmt::format("cuBLAS status {}", static_cast<int>(status)));
  const bool refused = status == CUBLAS_STATUS_NOT_SUPPORTED ||
                       status == CUBLAS_STATUS_INVALID_VALUE ||
                       status == CUBLAS_STATUS_ARCH_MISMATCH;
  if (refused) throw Unsupported(what);
  if (const std::string why = device_failure(); !why.empty()) throw Error(what + "; " + why);
  if (!queued && status != CUBLAS_STATUS_EXECUTION_FAILED) throw Unsupported(what);
  throw Error(what);
}

std::variant<Library, Absent> open() {
  forbid_emulation();
  static const DynamicLibrary library = open_file(cuda::driver_major());
  if (!library.present()) return Absent{said("gpu.no_cublas", library.why())};
  auto table = std::make_shared<Table>();
  if (const std::string missing = load(library, *table); !missing.empty())
    return Absent{
        fmt::format("{} has no {}: not a cuBLASLt of CUDA 11 or newer", library.path(), missing)};
  return Library(std::move(table));
}

std::string Library::version() const {
  const size_t v = table_->version();  // 130100 for 13.1.0
  return fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100);
}

struct Matmul::Parts {
  std::shared_ptr<const Table> t;
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr;
  std::optional<cuda::DeviceMemory> scales;  // for fp4 only
  uint64_t units = ~uint64_t{0};
  bool integer = false, wide = false;

  ~Parts() {
    if (a != nullptr) t->layout_destroy(a);
    if (b != nullptr) t->layout_destroy(b);
    if (d != nullptr) t->layout_destroy(d);
    if (desc != nullptr) t->desc_destroy(desc);
    if (handle != nullptr) t->destroy(handle);
  }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check_call(*t, t->desc_set(desc, attribute, &value, sizeof value),
               "cublasLtMatmulDescSetAttribute");
  }
};

namespace {

// One scale for every 16 elements. All are 1, so their tiled order does not matter.
template <typename Parts>
void add_fp4_scales(Parts& p, int64_t m, int64_t n, int64_t k) {
  const auto bytes = static_cast<size_t>(rounded(std::max(m, n), 128) * rounded((k + 15) / 16, 4));
  p.scales.emplace(bytes);
  const std::vector<uint8_t> ones(bytes, 0x38);  // 1 in UE4M3
  const cuda::Stream stream;
  cuda::copy(p.scales->data(), ones.data(), bytes, stream);
  cuda::wait(stream, 60, "copying scales");
  p.set(kScaleModeA, kVec16Ue4m3);
  p.set(kScaleModeB, kVec16Ue4m3);
  const void* scales = p.scales->data();
  p.set(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, scales);
  p.set(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, scales);
}

}  // namespace

Matmul::Matmul(const Library& library, const std::string& dtype, int64_t m, int64_t n, int64_t k)
    : parts_(std::make_unique<Parts>()) {
  Parts& p = *parts_;
  p.t = library.table();
  const Table& t = *p.t;
  const Types types = types_of(dtype);
  p.integer = dtype == "int8";
  p.wide = dtype.starts_with("fp64");
  p.units = units_mask(dtype);
  check_call(t, t.create(&p.handle), "cublasLtCreate");
  check_call(t, t.desc_create(&p.desc, types.compute, types.scale), "cublasLtMatmulDescCreate");
  p.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  p.set(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_N);
  if (dtype.starts_with("fp8")) p.set(CUBLASLT_MATMUL_DESC_FAST_ACCUM, int8_t{1});
  if (dtype == "fp4") add_fp4_scales(p, m, n, k);
  const auto layout = [&](cublasLtMatrixLayout_t& to, cudaDataType_t type, int64_t rows,
                          int64_t columns) {
    check_call(t,
               t.layout_create(&to, type, static_cast<uint64_t>(rows),
                               static_cast<uint64_t>(columns), rows),
               "cublasLtMatrixLayoutCreate");
  };
  layout(p.a, types.a, k, m);
  layout(p.b, types.b, k, n);
  layout(p.d, types.d, m, n);
}

Matmul::~Matmul() = default;
Matmul::Matmul(Matmul&& other) noexcept = default;

std::vector<Algorithm> Matmul::proposals(int most, size_t workspace_bytes) const {
  const Table& t = *parts_->t;
  cublasLtMatmulPreference_t preference = nullptr;
  check_call(t, t.preference_create(&preference), "cublasLtMatmulPreferenceCreate");
  std::vector<cublasLtMatmulHeuristicResult_t> found(static_cast<size_t>(most));
  int count = 0;
  cublasStatus_t status = t.preference_set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                           &workspace_bytes, sizeof workspace_bytes);
  if (status == CUBLAS_STATUS_SUCCESS && parts_->units != ~uint64_t{0})
    status = t.preference_set(preference, CUBLASLT_MATMUL_PREF_IMPL_MASK, &parts_->units,
                              sizeof parts_->units);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = t.heuristic(parts_->handle, parts_->desc, parts_->a, parts_->b, parts_->d, parts_->d,
                         preference, most, found.data(), &count);
  t.preference_destroy(preference);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return {};
  check_call(t, status, "cublasLtMatmulAlgoGetHeuristic");
  std::vector<Algorithm> out;
  for (size_t i = 0; i < static_cast<size_t>(count); ++i) {
    if (found[i].state != CUBLAS_STATUS_SUCCESS) continue;
    Algorithm algorithm{.workspace_bytes = found[i].workspaceSize};
    std::copy_n(found[i].algo.data, algorithm.bytes.size(), algorithm.bytes.begin());
    out.push_back(algorithm);
  }
  return out;
}

std::string units_of(const Table& t, const cublasLtMatmulAlgo_t& algorithm) {
  uint64_t flags = 0;
  size_t written = 0;
  if (t.capability(&algorithm, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, &flags, sizeof flags,
                   &written) != CUBLAS_STATUS_SUCCESS)
    return "";
  if ((flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK) != 0) return "tensor cores";
  return (flags & CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA) != 0 ? "vector units" : "";
}

std::string Matmul::units(const Algorithm& algorithm) const {
  cublasLtMatmulAlgo_t algo{};
  std::copy(algorithm.bytes.begin(), algorithm.bytes.end(), algo.data);
  return units_of(*parts_->t, algo);
}

void Matmul::run(const Algorithm& algorithm, const void* a, const void* b, void* d, void* workspace,
                 const cuda::Stream& stream) const {
  const Parts& p = *parts_;
  cublasLtMatmulAlgo_t algo{};
  std::copy(algorithm.bytes.begin(), algorithm.bytes.end(), algo.data);
  const float one = 1, zero = 0;
  const double one64 = 1, zero64 = 0;
  const int32_t one_int = 1, zero_int = 0;
  const void* alpha = p.wide ? static_cast<const void*>(&one64) : &one;
  const void* beta = p.wide ? static_cast<const void*>(&zero64) : &zero;
  if (p.integer) {
    alpha = &one_int;
    beta = &zero_int;
  }
  check_call(
      *p.t,
      p.t->matmul(p.handle, p.desc, alpha, a, p.a, b, p.b, beta, d, p.d, d, p.d, &algo, workspace,
                  algorithm.workspace_bytes, static_cast<cudaStream_t>(stream.handle())),
      "cublasLtMatmul", true);
}

}  // namespace cb::cublaslt
