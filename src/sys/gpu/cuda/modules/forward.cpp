// The functions of the CUDA runtime and the kernels' launchers, in a program that has them in a
// module: each passes its arguments on to the module's table. The parameters are those of the
// declarations in the headers, so that the compiler compares both sides.
#include <cstring>
#include <tuple>
#include <type_traits>

#include <cuda_runtime_api.h>

#include "sys/gpu/cuda/modules/choice.h"

namespace {

using cb::cuda::table_in_use;
using cb::kernels::CudaTable;

constexpr cudaError_t kNoModule = cudaErrorInsufficientDriver;

template <typename Function>
struct Parameters;
template <typename Result, typename... P>
struct Parameters<Result (*)(P...)> {
  template <size_t I>
  using At = std::tuple_element_t<I, std::tuple<P...>>;
};
template <auto Function, size_t I>
using Parameter = typename Parameters<decltype(Function)>::template At<I>;

// Makes an argument of the table from one of the runtime: a handle becomes void*, an enumeration
// int.
template <typename Plain, typename Native>
Plain plain(Native native) {
  if constexpr (std::is_convertible_v<Native, Plain>) {
    return native;
  } else {
    static_assert(std::is_same_v<Plain, void**>);
    return reinterpret_cast<void**>(native);
  }
}

template <typename... Plains, typename... Natives>
cudaError_t runtime(int (*CudaTable::*place)(Plains...), Natives... native) {
  const CudaTable* table = table_in_use();
  if (table == nullptr) return kNoModule;
  return static_cast<cudaError_t>((table->*place)(plain<Plains>(native)...));
}

template <typename... P>
int launch(int (*CudaTable::*place)(P...), std::type_identity_t<P>... arguments) {
  const CudaTable* table = table_in_use();
  return table == nullptr ? static_cast<int>(kNoModule) : (table->*place)(arguments...);
}

}  // namespace

// NAME(number of parameters, function)
#define P(function, i) Parameter<&function, i> a##i
#define P_1(f) P(f, 0)
#define P_2(f) P_1(f), P(f, 1)
#define P_3(f) P_2(f), P(f, 2)
#define P_4(f) P_3(f), P(f, 3)
#define P_5(f) P_4(f), P(f, 4)
#define P_6(f) P_5(f), P(f, 5)
#define P_7(f) P_6(f), P(f, 6)
#define A_1 a0
#define A_2 A_1, a1
#define A_3 A_2, a2
#define A_4 A_3, a3
#define A_5 A_4, a4
#define A_6 A_5, a5
#define A_7 A_6, a6
#define RUNTIME(n, name) \
  cudaError_t cuda##name(P_##n(cuda##name)) { return runtime(&CudaTable::name, A_##n); }
#define LAUNCHER(n, name) \
  int name(P_##n(name)) { return launch(&CudaTable::name, A_##n); }

extern "C" {

RUNTIME(3, DeviceCanAccessPeer)
RUNTIME(2, DeviceEnablePeerAccess)
RUNTIME(2, DeviceGetStreamPriorityRange)
RUNTIME(1, DriverGetVersion)
RUNTIME(1, EventCreate)
RUNTIME(1, EventDestroy)
RUNTIME(3, EventElapsedTime)
RUNTIME(1, EventQuery)
RUNTIME(2, EventRecord)
RUNTIME(1, Free)
RUNTIME(2, FreeAsync)
RUNTIME(1, FreeHost)
RUNTIME(1, GetDevice)
RUNTIME(1, GetDeviceCount)
RUNTIME(1, GraphDestroy)
RUNTIME(1, GraphExecDestroy)
RUNTIME(2, GraphLaunch)
RUNTIME(3, HostAlloc)
RUNTIME(2, Malloc)
RUNTIME(3, MallocAsync)
RUNTIME(2, MemGetInfo)
RUNTIME(5, MemcpyAsync)
RUNTIME(4, MemsetAsync)
RUNTIME(1, SetDevice)
RUNTIME(2, StreamBeginCapture)
RUNTIME(2, StreamCreateWithFlags)
RUNTIME(3, StreamCreateWithPriority)
RUNTIME(1, StreamDestroy)
RUNTIME(2, StreamEndCapture)
RUNTIME(3, StreamWaitEvent)

cudaError_t cudaGetLastError() { return runtime(&CudaTable::GetLastError); }

// Of the table: the function of CUDA 11 fails without a driver.
cudaError_t cudaRuntimeGetVersion(int* version) {
  const CudaTable* table = table_in_use();
  if (table == nullptr) return kNoModule;
  *version = table->runtime;
  return cudaSuccess;
}

const char* cudaGetErrorName(cudaError_t code) {
  const CudaTable* table = table_in_use();
  return table == nullptr ? "cudaErrorInsufficientDriver" : table->GetErrorName(code);
}

const char* cudaGetErrorString(cudaError_t code) {
  const CudaTable* table = table_in_use();
  return table == nullptr ? "no CUDA module can be used" : table->GetErrorString(code);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* out, int ordinal) {
  cb::kernels::CudaDevice found{};
  const cudaError_t code = runtime(&CudaTable::describe_device, &found, ordinal);
  *out = {};
  std::memcpy(out->name, found.name, sizeof out->name);
  std::memcpy(out->uuid.bytes, found.uuid, sizeof out->uuid.bytes);
  out->pciDomainID = found.pci_domain;
  out->pciBusID = found.pci_bus;
  out->pciDeviceID = found.pci_device;
  out->major = found.major;
  out->minor = found.minor;
  out->multiProcessorCount = found.multiprocessors;
  out->l2CacheSize = static_cast<int>(found.l2_bytes);
  out->totalGlobalMem = static_cast<size_t>(found.memory_bytes);
  return code;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* out, cudaGraph_t graph, unsigned long long) {
  return runtime(&CudaTable::instantiate_graph, out, graph);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** found, unsigned version,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  *found = nullptr;
  const cudaError_t code = runtime(&CudaTable::find_driver_function, name, found, version);
  *result = *found != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return code;
}

}  // extern "C"

namespace cb::kernels {

int find_kernels() { return launch(&CudaTable::find_kernels); }
LAUNCHER(2, launch_cg_build)
LAUNCHER(4, launch_cg_defect)
LAUNCHER(3, launch_cg_dot)
LAUNCHER(4, launch_cg_multiply)
LAUNCHER(2, launch_cg_prolong)
LAUNCHER(4, launch_cg_random)
LAUNCHER(2, launch_cg_restrict)
LAUNCHER(4, launch_cg_set)
LAUNCHER(4, launch_cg_sweep)
LAUNCHER(3, launch_cg_update)
LAUNCHER(6, launch_chain)
LAUNCHER(4, launch_chase)
LAUNCHER(5, launch_compare)
LAUNCHER(4, launch_copy)
LAUNCHER(2, launch_count)
LAUNCHER(5, launch_damage)
LAUNCHER(4, launch_fill)
LAUNCHER(5, launch_fill_terms)
LAUNCHER(5, launch_fill_words)
LAUNCHER(4, launch_gemm_check)
LAUNCHER(5, launch_gemm_fill)
LAUNCHER(6, launch_hash)
LAUNCHER(2, launch_infer_attention)
LAUNCHER(2, launch_infer_choice)
LAUNCHER(2, launch_infer_embed)
LAUNCHER(2, launch_infer_gated)
LAUNCHER(3, launch_infer_into_cache)
LAUNCHER(4, launch_infer_mark)
LAUNCHER(2, launch_infer_norm)
LAUNCHER(3, launch_infer_onto_stream)
LAUNCHER(2, launch_infer_product)
LAUNCHER(5, launch_infer_row_max)
LAUNCHER(2, launch_lu_back)
LAUNCHER(5, launch_lu_fill)
LAUNCHER(2, launch_lu_move)
LAUNCHER(4, launch_lu_narrow)
LAUNCHER(4, launch_lu_plan)
LAUNCHER(2, launch_lu_residual)
LAUNCHER(3, launch_lu_solve)
LAUNCHER(7, launch_march_compare)
LAUNCHER(7, launch_march_turn)
LAUNCHER(5, launch_march_write)
LAUNCHER(2, launch_moe_add)
LAUNCHER(2, launch_moe_pack)
LAUNCHER(2, launch_moe_places)
LAUNCHER(4, launch_read)
LAUNCHER(2, launch_spin)
LAUNCHER(3, launch_train_adamw)
LAUNCHER(4, launch_train_add)
LAUNCHER(2, launch_train_append)
LAUNCHER(3, launch_train_cross_entropy)
LAUNCHER(3, launch_train_damage)
LAUNCHER(2, launch_train_eight)
LAUNCHER(4, launch_train_embed)
LAUNCHER(4, launch_train_embed_backward)
LAUNCHER(2, launch_train_exponentials)
LAUNCHER(2, launch_train_flash)
LAUNCHER(2, launch_train_flash_backward)
LAUNCHER(4, launch_train_hash)
LAUNCHER(3, launch_train_logits_backward)
LAUNCHER(2, launch_train_narrow)
LAUNCHER(2, launch_train_norm)
LAUNCHER(2, launch_train_norm_backward)
LAUNCHER(2, launch_train_normal)
LAUNCHER(2, launch_train_probabilities)
LAUNCHER(2, launch_train_rotate)
LAUNCHER(2, launch_train_row_max)
LAUNCHER(2, launch_train_softmax)
LAUNCHER(2, launch_train_softmax_backward)
LAUNCHER(5, launch_train_squares)
LAUNCHER(5, launch_train_swiglu)
LAUNCHER(5, launch_train_swiglu_backward)
LAUNCHER(6, launch_triad)
LAUNCHER(5, launch_triad_check)
LAUNCHER(5, launch_triad_fill)
LAUNCHER(5, launch_verify)
LAUNCHER(5, launch_verify_byte)
LAUNCHER(6, launch_verify_terms)
LAUNCHER(7, launch_verify_words)

}  // namespace cb::kernels
