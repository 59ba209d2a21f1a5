// The stand-ins of the CUDA runtime, cuBLASLt and cuFile have the manners of the real libraries:
// each check names the vendor's line (headers of CUDA 13.0; cufile.h 1.15). Those of NCCL and NVML
// are checked in nccl_calls_test.cpp and gpu_telemetry_test.cpp.
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#if __has_include(<cuda_runtime_api.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cuda_runtime_api.h>
#define CB_HAS_CUDA_HEADERS
#endif

namespace {

std::filesystem::path fake(const char* name) {
  const char* build = std::getenv("CLUSTERBENCH_BUILD_DIR");
  return std::filesystem::path(build == nullptr ? "." : build) / "fake" / name;
}

template <typename F>
void find(void* library, F*& function, const char* name) {
  function = reinterpret_cast<F*>(::dlsym(library, name));
  REQUIRE_MESSAGE((function != nullptr), name);
}
#define CB_CALL(library, name)   \
  decltype(&::name) name##_call; \
  find(library, name##_call, #name)

}  // namespace

#ifdef CB_HAS_CUDA_HEADERS
namespace {

// Null where this build has no CUDA.
void* open_cuda(const char* name) {
  ::setenv("CLUSTERBENCH_FAKE_CUDA", "devices=2 memory=1048576", 1);
  if (!std::filesystem::exists(fake("libfake_cuda_runtime.so"))) return nullptr;
  void* library = ::dlopen(fake(name).c_str(), RTLD_NOW);
  REQUIRE_MESSAGE((library != nullptr), ::dlerror());
  return library;
}

}  // namespace

TEST_CASE("the stand-in's CUDA runtime: events, errors and memory") {
  void* const cuda = open_cuda("libfake_cuda_runtime.so");
  if (cuda == nullptr) return;
  CB_CALL(cuda, cudaMalloc);
  CB_CALL(cuda, cudaFree);
  CB_CALL(cuda, cudaGetLastError);
  CB_CALL(cuda, cudaSetDevice);
  CB_CALL(cuda, cudaEventDestroy);
  CB_CALL(cuda, cudaEventQuery);
  CB_CALL(cuda, cudaEventElapsedTime);
  CB_CALL(cuda, cudaStreamDestroy);
  CB_CALL(cuda, cudaDeviceEnablePeerAccess);
  cudaError_t (*create_event)(cudaEvent_t*);
  cudaError_t (*create_stream)(cudaStream_t*, unsigned);
  cudaError_t (*record)(cudaEvent_t, cudaStream_t);
  cudaError_t (*copy)(void*, const void*, size_t, cudaMemcpyKind, cudaStream_t);
  void* memory = nullptr;
  find(cuda, create_event, "cudaEventCreate");
  find(cuda, create_stream, "cudaStreamCreateWithFlags");
  find(cuda, record, "cudaEventRecord");
  find(cuda, copy, "cudaMemcpyAsync");
  REQUIRE(cudaSetDevice_call(0) == cudaSuccess);

  // cuda_runtime_api.h:1120: the last error is given once and is then cudaSuccess.
  CHECK(cudaMalloc_call(&memory, size_t{1} << 40) == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError_call() == cudaErrorMemoryAllocation);
  CHECK(cudaGetLastError_call() == cudaSuccess);

  cudaEvent_t before{}, after{};
  cudaStream_t stream{}, elsewhere{};
  REQUIRE(create_event(&before) == cudaSuccess);
  REQUIRE(create_event(&after) == cudaSuccess);
  REQUIRE(create_stream(&stream, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaSetDevice_call(1) == cudaSuccess);
  REQUIRE(create_stream(&elsewhere, cudaStreamNonBlocking) == cudaSuccess);
  REQUIRE(cudaSetDevice_call(0) == cudaSuccess);
  float milliseconds = -1;
  // cuda_runtime_api.h:3000: events that were never recorded.
  CHECK(cudaEventElapsedTime_call(&milliseconds, before, after) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError_call() == cudaErrorInvalidResourceHandle);
  // driver_types.h:738: an event belongs to its device.
  CHECK(record(before, elsewhere) == cudaErrorInvalidResourceHandle);
  CHECK(cudaGetLastError_call() == cudaErrorInvalidResourceHandle);
  // cuda_runtime_api.h:3001 and driver_types.h:763: not ready is told as an error is.
  REQUIRE(cudaMalloc_call(&memory, 4096) == cudaSuccess);
  std::array<char, 4096> host = {};
  host.fill(3);
  CHECK(record(before, stream) == cudaSuccess);
  CHECK(copy(memory, host.data(), host.size(), cudaMemcpyDefault, stream) == cudaSuccess);
  CHECK(record(after, stream) == cudaSuccess);
  CHECK(cudaEventElapsedTime_call(&milliseconds, before, after) == cudaErrorNotReady);
  CHECK(cudaGetLastError_call() == cudaErrorNotReady);
  CHECK(cudaEventQuery_call(after) == cudaErrorNotReady);
  CHECK(cudaGetLastError_call() == cudaErrorNotReady);
  while (cudaEventQuery_call(after) == cudaErrorNotReady) std::this_thread::yield();
  cudaGetLastError_call();
  CHECK(cudaEventElapsedTime_call(&milliseconds, before, after) == cudaSuccess);
  CHECK(milliseconds > 0);
  CHECK(static_cast<char*>(memory)[4095] == 3);
  // driver_types.h:804: peers are enabled once.
  CHECK(cudaDeviceEnablePeerAccess_call(1, 0) == cudaSuccess);
  CHECK(cudaDeviceEnablePeerAccess_call(1, 0) == cudaErrorPeerAccessAlreadyEnabled);
  CHECK(cudaGetLastError_call() == cudaErrorPeerAccessAlreadyEnabled);
  // cuda_runtime_api.h:4728: freeing waits for what the device has to do.
  CHECK(copy(memory, host.data(), 64, cudaMemcpyDefault, stream) == cudaSuccess);
  CHECK(record(after, stream) == cudaSuccess);
  CHECK(cudaFree_call(memory) == cudaSuccess);
  CHECK(cudaEventElapsedTime_call(&milliseconds, before, after) == cudaSuccess);
  cudaEventDestroy_call(before);
  cudaEventDestroy_call(after);
  cudaStreamDestroy_call(stream);
  cudaStreamDestroy_call(elsewhere);
}

TEST_CASE("the stand-in's cuBLASLt: sizes of attributes, layouts, and a device that fails") {
  void* const cuda = open_cuda("libfake_cuda_runtime.so");
  if (cuda == nullptr) return;
  void* const blas = open_cuda("fake_cublaslt_modules.so");
  CB_CALL(blas, cublasLtCreate);
  CB_CALL(blas, cublasLtDestroy);
  CB_CALL(blas, cublasLtMatmul);
  CB_CALL(blas, cublasLtMatmulDescCreate);
  CB_CALL(blas, cublasLtMatmulDescDestroy);
  CB_CALL(blas, cublasLtMatmulDescSetAttribute);
  CB_CALL(blas, cublasLtMatrixLayoutCreate);
  CB_CALL(blas, cublasLtMatrixLayoutDestroy);
  CB_CALL(blas, cublasLtMatmulPreferenceCreate);
  CB_CALL(blas, cublasLtMatmulPreferenceDestroy);
  CB_CALL(blas, cublasLtMatmulAlgoGetHeuristic);
  cublasLtHandle_t handle{};
  REQUIRE(cublasLtCreate_call(&handle) == CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulDesc_t desc{};
  REQUIRE(cublasLtMatmulDescCreate_call(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) ==
          CUBLAS_STATUS_SUCCESS);
  // cublasLt.h:1640 and 1531: a size that is not the attribute's; fast accumulation is an int8_t.
  const int32_t wide = 1;
  const int8_t narrow = 1;
  CHECK(cublasLtMatmulDescSetAttribute_call(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &wide,
                                            sizeof wide) == CUBLAS_STATUS_INVALID_VALUE);
  CHECK(cublasLtMatmulDescSetAttribute_call(desc, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &narrow,
                                            sizeof narrow) == CUBLAS_STATUS_SUCCESS);
  const auto heuristic = [&](cudaDataType_t type, uint64_t leading) {
    cublasLtMatrixLayout_t a{}, b{}, d{};
    const cudaDataType_t out = type == CUDA_R_8F_E4M3 ? CUDA_R_16BF : type;
    cublasLtMatrixLayoutCreate_call(&a, type, 32, 32, static_cast<int64_t>(leading));
    cublasLtMatrixLayoutCreate_call(&b, type, 32, 32, static_cast<int64_t>(leading));
    cublasLtMatrixLayoutCreate_call(&d, out, 32, 32, 32);
    cublasLtMatmulPreference_t preference{};
    cublasLtMatmulPreferenceCreate_call(&preference);
    std::array<cublasLtMatmulHeuristicResult_t, 8> results = {};
    int count = -1;
    const auto status = cublasLtMatmulAlgoGetHeuristic_call(handle, desc, a, b, d, d, preference, 8,
                                                            results.data(), &count);
    CHECK((count > 0) == (status == CUBLAS_STATUS_SUCCESS));
    cublasLtMatmulPreferenceDestroy_call(preference);
    for (auto* layout : {a, b, d}) cublasLtMatrixLayoutDestroy_call(layout);
    return status;
  };
  // cublasLt.h:2265: no function for what is asked, here fp8 that is not Aᵀ·B (cuBLAS manual,
  // cublasLtMatmul) or has rows that do not begin at 16 bytes.
  CHECK(heuristic(CUDA_R_16BF, 32) == CUBLAS_STATUS_SUCCESS);
  CHECK(heuristic(CUDA_R_16BF, 31) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(heuristic(CUDA_R_8F_E4M3, 32) == CUBLAS_STATUS_NOT_SUPPORTED);
  const int32_t transposed = CUBLAS_OP_T;
  CHECK(cublasLtMatmulDescSetAttribute_call(desc, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                            sizeof transposed) == CUBLAS_STATUS_SUCCESS);
  CHECK(heuristic(CUDA_R_8F_E4M3, 32) == CUBLAS_STATUS_SUCCESS);
  CHECK(heuristic(CUDA_R_8F_E4M3, 40) == CUBLAS_STATUS_NOT_SUPPORTED);
  CHECK(cublasLtMatmulDescDestroy_call(desc) == CUBLAS_STATUS_SUCCESS);
  CHECK(cublasLtDestroy_call(handle) == CUBLAS_STATUS_SUCCESS);
}

TEST_CASE("a device that has failed fails every call that follows: driver_types.h:913") {
  void* const cuda = open_cuda("libfake_cuda_runtime.so");
  if (cuda == nullptr) return;
  void (*kill)(int);
  find(cuda, kill, "_ZN4fake4killEi");
  CB_CALL(cuda, cudaSetDevice);
  CB_CALL(cuda, cudaGetLastError);
  CB_CALL(cuda, cudaMalloc);
  CB_CALL(cuda, cudaFree);
  void* memory = nullptr;
  CHECK(cudaSetDevice_call(1) == cudaSuccess);
  kill(1);
  for (int i = 0; i < 2; ++i) {
    CHECK(cudaMalloc_call(&memory, 64) == cudaErrorLaunchFailure);
    cudaGetLastError_call();
  }
  CHECK(cudaSetDevice_call(1) == cudaErrorLaunchFailure);
  cudaGetLastError_call();
  CHECK(cudaSetDevice_call(0) == cudaSuccess);
  CHECK(cudaMalloc_call(&memory, 64) == cudaSuccess);  // the other device works
  CHECK(cudaFree_call(memory) == cudaSuccess);
}
#endif

TEST_CASE("the stand-in's cuFile: its numbers are those of cufile.h") {
  struct Status {
    int error, cuda;
  };
  struct Descriptor {
    int type;
    union {
      int fd;
      void* handle;
    } file;
    const void* operations;
  };
  void* const cufile = ::dlopen(fake("fake_cufile.so").c_str(), RTLD_NOW);
  REQUIRE((cufile != nullptr));
  Status (*open)();
  Status (*take)(void**, Descriptor*);
  ssize_t (*write)(void*, const void*, size_t, off_t, off_t);
  ssize_t (*read)(void*, void*, size_t, off_t, off_t);
  find(cufile, open, "cuFileDriverOpen");
  find(cufile, take, "cuFileHandleRegister");
  find(cufile, write, "cuFileWrite");
  find(cufile, read, "cuFileRead");
  char name[] = "/tmp/clusterbench-cufile-XXXXXX";
  const int fd = ::mkstemp(name);
  REQUIRE(fd >= 0);
  ::unlink(name);
  REQUIRE(::ftruncate(fd, 8192) == 0);
  ::setenv("FAKE_CUFILE", "nodriver", 1);
  CHECK(open().error == 5001);  // cufile.h:78, CU_FILE_DRIVER_NOT_INITIALIZED
  ::setenv("FAKE_CUFILE", "direct", 1);
  CHECK(open().error == 0);
  void* handle = nullptr;
  Descriptor descriptor{.type = 3, .file = {.fd = fd}, .operations = nullptr};
  CHECK(take(&handle, &descriptor).error == 5022);  // cufile.h:98, CU_FILE_INVALID_VALUE
  descriptor.type = 1;                              // CU_FILE_HANDLE_TYPE_OPAQUE_FD
  CHECK(take(&handle, &descriptor).error == 0);
  const int kept = ::fcntl(fd, F_GETFL);
  REQUIRE(::fcntl(fd, F_SETFL, kept | O_NOATIME) == 0);
  CHECK(take(&handle, &descriptor).error == 5019);  // cufile.h:96, CU_FILE_INVALID_FILE_OPEN_FLAG
  REQUIRE(::fcntl(fd, F_SETFL, kept) == 0);
  CHECK(take(&handle, &descriptor).error == 0);
  std::string out(4096, 'x'), in(4096, ' ');
  // cufile.h:450 and 426: the bytes that were moved.
  CHECK(write(handle, out.data(), 4096, 4096, 0) == 4096);
  CHECK(read(handle, in.data(), 4096, 4096, 0) == 4096);
  CHECK(in == out);
  ::setenv("FAKE_CUFILE", "error", 1);
  errno = 0;
  CHECK(read(handle, in.data(), 4096, 0, 0) == -1);  // cufile.h:427: -1, and errno says why
  CHECK(errno == EIO);
  ::setenv("FAKE_CUFILE", "refuse", 1);
  CHECK(read(handle, in.data(), 4096, 0, 0) == -5008);  // cufile.h:428: the error, negative
  ::unsetenv("FAKE_CUFILE");
  ::close(fd);
}
