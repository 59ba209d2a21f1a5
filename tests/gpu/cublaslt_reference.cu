// A plain loop over cuBLASLt's first proposal and over cudaMemcpyAsync on the first GPU: what a
// framework does, for machines that have no PyTorch to compare with. Writes JSON as
// ci/gpu_reference.py does. Exit 3 where there is no GPU or no cuBLASLt.
//   cublaslt_reference OUT.json NAME:M,N,K…
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kernels/gemm_data.h"

namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(cudaPeekAtLastError()));
  std::exit(3);
}

void* library() {
  const char* given = std::getenv("CLUSTERBENCH_CUBLASLT_LIBRARY");
  for (const char* name : {given, "libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so",
                           "/usr/local/cuda/lib64/libcublasLt.so"}) {
    if (name == nullptr) continue;
    if (void* handle = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  require(false, "cuBLASLt does not open");
  return nullptr;
}

template <typename F>
F* function(const char* name) {
  static void* handle = library();
  auto* out = reinterpret_cast<F*>(dlsym(handle, name));
  require(out != nullptr, name);
  return out;
}
#define LT(name) function<decltype(::name)>(#name)

struct Rates {
  double p05, median, p95;
};

// Rates of 30 samples behind two seconds of warm-up; `work` queues one repetition.
template <typename Work>
Rates measure(double amount, int repetitions, cudaStream_t stream, Work work) {
  cudaEvent_t begin = nullptr, end = nullptr;
  require(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess, "events");
  std::vector<double> out;
  double spent = 0;
  while (spent < 2 || out.size() < 30) {
    cudaEventRecord(begin, stream);
    for (int i = 0; i < repetitions; ++i) work();
    cudaEventRecord(end, stream);
    require(cudaStreamSynchronize(stream) == cudaSuccess, "reference loop");
    float milliseconds = 0;
    cudaEventElapsedTime(&milliseconds, begin, end);
    spent += milliseconds * 1e-3;
    if (spent >= 2) out.push_back(amount * repetitions / (milliseconds * 1e-3));
  }
  std::sort(out.begin(), out.end());
  const auto at = [&](double share) {
    return out[static_cast<std::size_t>(share * static_cast<double>(out.size() - 1))];
  };
  return {at(0.05), at(0.5), at(0.95)};
}

void* memory(std::size_t bytes) {
  void* out = nullptr;
  require(cudaMalloc(&out, bytes) == cudaSuccess, "cudaMalloc");
  return out;
}

// bf16, A·B as a framework calls it: row-major, which is column-major B·A without transposing.
Rates product(std::uint64_t m, std::uint64_t n, std::uint64_t k, cudaStream_t stream) {
  using namespace cb::kernels;
  void *a = memory(2 * m * k), *b = memory(2 * k * n), *d = memory(2 * m * n);
  require(launch_gemm_fill(a, Number::bf16, m * k, 1, stream) == 0, "gemm_fill");
  require(launch_gemm_fill(b, Number::bf16, k * n, 2, stream) == 0, "gemm_fill");
  std::size_t space = std::size_t{32} << 20;
  void* workspace = memory(space);
  cublasLtHandle_t handle = nullptr;
  cublasLtMatmulDesc_t desc = nullptr;
  cublasLtMatrixLayout_t left = nullptr, right = nullptr, out = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  bool fine = LT(cublasLtCreate)(&handle) == CUBLAS_STATUS_SUCCESS;
  fine &= LT(cublasLtMatmulDescCreate)(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) == 0;
  fine &= LT(cublasLtMatrixLayoutCreate)(&left, CUDA_R_16BF, n, k, static_cast<int64_t>(n)) == 0;
  fine &= LT(cublasLtMatrixLayoutCreate)(&right, CUDA_R_16BF, k, m, static_cast<int64_t>(k)) == 0;
  fine &= LT(cublasLtMatrixLayoutCreate)(&out, CUDA_R_16BF, n, m, static_cast<int64_t>(n)) == 0;
  fine &= LT(cublasLtMatmulPreferenceCreate)(&preference) == CUBLAS_STATUS_SUCCESS;
  fine &= LT(cublasLtMatmulPreferenceSetAttribute)(
              preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space, sizeof space) == 0;
  cublasLtMatmulHeuristicResult_t best{};
  int count = 0;
  fine &= LT(cublasLtMatmulAlgoGetHeuristic)(handle, desc, left, right, out, out, preference, 1,
                                             &best, &count) == CUBLAS_STATUS_SUCCESS;
  require(fine && count == 1, "cuBLASLt");
  const float one = 1, zero = 0;
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  auto* const multiply = LT(cublasLtMatmul);
  const Rates rates =
      measure(flops, std::max(1, static_cast<int>(0.02 / (flops / 500e12))), stream, [&] {
        require(multiply(handle, desc, &one, b, left, a, right, &zero, d, out, d, out, &best.algo,
                         workspace, best.workspaceSize, stream) == CUBLAS_STATUS_SUCCESS,
                "cublasLtMatmul");
      });
  for (void* p : {a, b, d, workspace}) cudaFree(p);
  return rates;
}

void write(std::FILE* to, const char* name, const Rates& r) {
  std::fprintf(to, "\"%s\": {\"p05\": %.6g, \"median\": %.6g, \"p95\": %.6g}", name, r.p05,
               r.median, r.p95);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  int devices = 0;
  require(cudaGetDeviceCount(&devices) == cudaSuccess && devices > 0, "no usable GPU");
  cudaDeviceProp properties{};
  cudaGetDeviceProperties(&properties, 0);
  cudaStream_t stream = nullptr;
  require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "stream");
  std::FILE* to = std::fopen(argv[1], "w");
  if (to == nullptr) return 4;
  std::fprintf(to,
               "{\"by\": \"a plain cuBLASLt loop (no PyTorch here)\", \"gpu\": \"%s\", "
               "\"matmul\": {",
               properties.name);
  for (int i = 2; i < argc; ++i) {
    char name[32] = "";
    unsigned long long m = 0, n = 0, k = 0;
    if (std::sscanf(argv[i], "%31[^:]:%llu,%llu,%llu", name, &m, &n, &k) != 4) return 2;
    if (i > 2) std::fprintf(to, ", ");
    write(to, name, product(m, n, k, stream));
  }
  constexpr std::size_t bytes = std::size_t{2} << 30;
  void *source = memory(bytes), *target = memory(bytes);
  std::fprintf(to, "}, ");
  write(to, "copy", measure(2.0 * bytes, 20, stream, [&] {
          cudaMemcpyAsync(target, source, bytes, cudaMemcpyDeviceToDevice, stream);
        }));
  std::fprintf(to, "}\n");
  return std::fclose(to) == 0 ? 0 : 4;
}
