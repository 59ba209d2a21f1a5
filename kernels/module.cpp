// The module's side of module_table.h: the runtime and the kernels of the toolkit that compiles
// this file. Only modules contain it; a program with the runtime linked in does not.
// CB_MODULE_ARCHITECTURES, CB_MODULE_PTX and CB_MODULE_SOURCES come from the build; the stand-ins
// of the tests also give CB_MODULE_RUNTIME, the version that they pretend.
#include <cstring>
#include <type_traits>

#include <cuda_runtime_api.h>

#include "kernels/module_table.h"

#ifndef CB_MODULE_RUNTIME
#define CB_MODULE_RUNTIME CUDART_VERSION
#endif

namespace cb::kernels {
namespace {

// Makes a parameter of the runtime from the table's.
template <typename Native, typename Plain>
Native native(Plain plain) {
  if constexpr (std::is_same_v<Native, Plain>) {
    return plain;
  } else if constexpr (std::is_enum_v<Native>) {
    static_assert(std::is_same_v<Plain, int>);
    return static_cast<Native>(plain);
  } else {
    static_assert(std::is_same_v<Plain, void*> || std::is_same_v<Plain, void**>);
    return reinterpret_cast<Native>(plain);
  }
}

template <typename... Natives, typename... Plains>
int call(cudaError_t (*function)(Natives...), Plains... plain) {
  return static_cast<int>(function(native<Natives>(plain)...));
}

// A function of the runtime with the parameters of its place in the table.
template <auto Function, typename Place>
struct Plainly;
template <auto Function, typename... Plains>
struct Plainly<Function, int (*)(Plains...)> {
  static int run(Plains... plain) { return call(Function, plain...); }
};

const char* error_name(int code) { return cudaGetErrorName(static_cast<cudaError_t>(code)); }
const char* error_string(int code) { return cudaGetErrorString(static_cast<cudaError_t>(code)); }

int describe_device(CudaDevice* out, int device) {
  cudaDeviceProp found{};
  const cudaError_t code = cudaGetDeviceProperties(&found, device);
  *out = {};
  std::memcpy(out->name, found.name, sizeof out->name);
  std::memcpy(out->uuid, found.uuid.bytes, sizeof out->uuid);
  out->pci_domain = found.pciDomainID;
  out->pci_bus = found.pciBusID;
  out->pci_device = found.pciDeviceID;
  out->major = found.major;
  out->minor = found.minor;
  out->multiprocessors = found.multiProcessorCount;
  out->l2_bytes = found.l2CacheSize;
  out->memory_bytes = static_cast<std::int64_t>(found.totalGlobalMem);
  return code;
}

int instantiate_graph(void** executable, void* graph) {
  auto* const out = reinterpret_cast<cudaGraphExec_t*>(executable);
#if CUDART_VERSION >= 12000
  return cudaGraphInstantiate(out, static_cast<cudaGraph_t>(graph), 0);
#else
  return cudaGraphInstantiate(out, static_cast<cudaGraph_t>(graph), nullptr, nullptr, 0);
#endif
}

int find_driver_function(const char* name, void** found, unsigned version) {
#if CUDART_VERSION >= 12050
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  return cudaGetDriverEntryPointByVersion(name, found, version, cudaEnableDefault, &result);
#else  // as of the runtime's own version, which is newer than any that is asked for
  static_cast<void>(version);
  return cudaGetDriverEntryPoint(name, found, cudaEnableDefault);
#endif
}

constexpr int kArchitectures[] = {CB_MODULE_ARCHITECTURES, 0};

#define RUNTIME(name) .name = Plainly<cuda##name, decltype(CudaTable::name)>::run
#define KERNEL(name) .name = kernels::name

constexpr CudaTable kTable{
    .version = cuda_table_version,
    .sources = CB_MODULE_SOURCES,
    .runtime = CB_MODULE_RUNTIME,
    .architectures = kArchitectures,
    .ptx = CB_MODULE_PTX,
    RUNTIME(DeviceCanAccessPeer),
    RUNTIME(DeviceEnablePeerAccess),
    RUNTIME(DeviceGetStreamPriorityRange),
    RUNTIME(DriverGetVersion),
    RUNTIME(EventCreate),
    RUNTIME(EventDestroy),
    RUNTIME(EventElapsedTime),
    RUNTIME(EventQuery),
    RUNTIME(EventRecord),
    RUNTIME(Free),
    RUNTIME(FreeAsync),
    RUNTIME(FreeHost),
    RUNTIME(GetDevice),
    RUNTIME(GetDeviceCount),
    RUNTIME(GetLastError),
    RUNTIME(GraphDestroy),
    RUNTIME(GraphExecDestroy),
    RUNTIME(GraphLaunch),
    RUNTIME(HostAlloc),
    RUNTIME(Malloc),
    RUNTIME(MallocAsync),
    RUNTIME(MemGetInfo),
    RUNTIME(MemcpyAsync),
    RUNTIME(MemsetAsync),
    RUNTIME(SetDevice),
    RUNTIME(StreamBeginCapture),
    RUNTIME(StreamCreateWithFlags),
    RUNTIME(StreamCreateWithPriority),
    RUNTIME(StreamDestroy),
    RUNTIME(StreamEndCapture),
    RUNTIME(StreamWaitEvent),
    .GetErrorName = error_name,
    .GetErrorString = error_string,
    .describe_device = describe_device,
    .instantiate_graph = instantiate_graph,
    .find_driver_function = find_driver_function,
    KERNEL(find_kernels),
    KERNEL(launch_cg_build),
    KERNEL(launch_cg_defect),
    KERNEL(launch_cg_dot),
    KERNEL(launch_cg_multiply),
    KERNEL(launch_cg_prolong),
    KERNEL(launch_cg_random),
    KERNEL(launch_cg_restrict),
    KERNEL(launch_cg_set),
    KERNEL(launch_cg_sweep),
    KERNEL(launch_cg_update),
    KERNEL(launch_chain),
    KERNEL(launch_chase),
    KERNEL(launch_compare),
    KERNEL(launch_copy),
    KERNEL(launch_count),
    KERNEL(launch_damage),
    KERNEL(launch_fill),
    KERNEL(launch_fill_terms),
    KERNEL(launch_fill_words),
    KERNEL(launch_gemm_check),
    KERNEL(launch_gemm_fill),
    KERNEL(launch_hash),
    KERNEL(launch_infer_attention),
    KERNEL(launch_infer_choice),
    KERNEL(launch_infer_embed),
    KERNEL(launch_infer_gated),
    KERNEL(launch_infer_into_cache),
    KERNEL(launch_infer_mark),
    KERNEL(launch_infer_norm),
    KERNEL(launch_infer_onto_stream),
    KERNEL(launch_infer_product),
    KERNEL(launch_infer_row_max),
    KERNEL(launch_lu_back),
    KERNEL(launch_lu_fill),
    KERNEL(launch_lu_move),
    KERNEL(launch_lu_narrow),
    KERNEL(launch_lu_plan),
    KERNEL(launch_lu_residual),
    KERNEL(launch_lu_solve),
    KERNEL(launch_march_compare),
    KERNEL(launch_march_turn),
    KERNEL(launch_march_write),
    KERNEL(launch_moe_add),
    KERNEL(launch_moe_pack),
    KERNEL(launch_moe_places),
    KERNEL(launch_read),
    KERNEL(launch_spin),
    KERNEL(launch_train_adamw),
    KERNEL(launch_train_add),
    KERNEL(launch_train_append),
    KERNEL(launch_train_cross_entropy),
    KERNEL(launch_train_damage),
    KERNEL(launch_train_eight),
    KERNEL(launch_train_embed),
    KERNEL(launch_train_embed_backward),
    KERNEL(launch_train_exponentials),
    KERNEL(launch_train_flash),
    KERNEL(launch_train_flash_backward),
    KERNEL(launch_train_hash),
    KERNEL(launch_train_logits_backward),
    KERNEL(launch_train_narrow),
    KERNEL(launch_train_norm),
    KERNEL(launch_train_norm_backward),
    KERNEL(launch_train_normal),
    KERNEL(launch_train_probabilities),
    KERNEL(launch_train_rotate),
    KERNEL(launch_train_row_max),
    KERNEL(launch_train_softmax),
    KERNEL(launch_train_softmax_backward),
    KERNEL(launch_train_squares),
    KERNEL(launch_train_swiglu),
    KERNEL(launch_train_swiglu_backward),
    KERNEL(launch_triad),
    KERNEL(launch_triad_check),
    KERNEL(launch_triad_fill),
    KERNEL(launch_verify),
    KERNEL(launch_verify_byte),
    KERNEL(launch_verify_terms),
    KERNEL(launch_verify_words),
};

}  // namespace
}  // namespace cb::kernels

extern "C" __attribute__((visibility("default"))) const cb::kernels::CudaTable* clusterbench_cuda(
    int table_version) {
  return table_version == cb::kernels::cuda_table_version ? &cb::kernels::kTable : nullptr;
}
