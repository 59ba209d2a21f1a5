// The table between clusterbench and its CUDA modules: a module is a shared library with the
// kernels and the CUDA runtime of one toolkit, so that one program works with drivers of many
// years. Everything crosses as plain C: handles (streams, events, graphs) are void*, enumerations
// int, results the number of a cudaError_t.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cg.h"
#include "kernels/collective_data.h"
#include "kernels/fill_verify.h"
#include "kernels/gemm_data.h"
#include "kernels/hash.h"
#include "kernels/infer.h"
#include "kernels/lu.h"
#include "kernels/march.h"
#include "kernels/moe.h"
#include "kernels/overhead.h"
#include "kernels/sm_chain.h"
#include "kernels/stream.h"
#include "kernels/train.h"

namespace cb::kernels {

// Goes up with every change of this file. A change of the kernels' files shows in
// CudaTable::sources.
inline constexpr int cuda_table_version = 10;

// The only name that a module exports, and its type: returns null for another table version.
inline constexpr const char* cuda_table_symbol = "clusterbench_cuda";
struct CudaTable;
using CudaTableFunction = const CudaTable*(int table_version);

// What the program reads of a cudaDeviceProp, whose layout differs between CUDA 11, 12 and 13.
struct CudaDevice {
  char name[256];
  unsigned char uuid[16];
  int pci_domain, pci_bus, pci_device;
  int major, minor;  // compute capability
  int multiprocessors;
  std::int64_t l2_bytes, memory_bytes;
};

struct CudaTable {
  int version;          // cuda_table_version of the module
  const char* sources;  // digest of the files below kernels/ that the module was built from
  int runtime;          // CUDART_VERSION: 11080 for 11.8
  const int*
      architectures;  // compute capabilities that it has machine code for (90 for 9.0); 0 ends them
  int ptx;  // compute capability of its PTX, which drivers compile for newer GPUs; 0 for none

  // Functions of the runtime, named as there without "cuda".
  int (*DeviceCanAccessPeer)(int* can, int device, int peer);
  int (*DeviceEnablePeerAccess)(int peer, unsigned flags);
  int (*DeviceGetStreamPriorityRange)(int* least, int* greatest);
  int (*DriverGetVersion)(int* version);
  int (*EventCreate)(void** event);
  int (*EventDestroy)(void* event);
  int (*EventElapsedTime)(float* milliseconds, void* start, void* end);
  int (*EventQuery)(void* event);
  int (*EventRecord)(void* event, void* stream);
  int (*Free)(void* memory);
  int (*FreeAsync)(void* memory, void* stream);
  int (*FreeHost)(void* memory);
  int (*GetDevice)(int* device);
  int (*GetDeviceCount)(int* count);
  int (*GetLastError)();
  int (*GraphDestroy)(void* graph);
  int (*GraphExecDestroy)(void* executable);
  int (*GraphLaunch)(void* executable, void* stream);
  int (*HostAlloc)(void** memory, std::size_t bytes, unsigned flags);
  int (*Malloc)(void** memory, std::size_t bytes);
  int (*MallocAsync)(void** memory, std::size_t bytes, void* stream);
  int (*MemGetInfo)(std::size_t* free, std::size_t* total);
  int (*MemcpyAsync)(void* to, const void* from, std::size_t bytes, int kind, void* stream);
  int (*MemsetAsync)(void* to, int value, std::size_t bytes, void* stream);
  int (*SetDevice)(int device);
  int (*StreamBeginCapture)(void* stream, int mode);
  int (*StreamCreateWithFlags)(void** stream, unsigned flags);
  int (*StreamCreateWithPriority)(void** stream, unsigned flags, int priority);
  int (*StreamDestroy)(void* stream);
  int (*StreamEndCapture)(void* stream, void** graph);
  int (*StreamWaitEvent)(void* stream, void* event, unsigned flags);
  const char* (*GetErrorName)(int code);
  const char* (*GetErrorString)(int code);
  // These have other parameters in CUDA 11, 12 or 13.
  int (*describe_device)(CudaDevice* out, int device);
  int (*instantiate_graph)(void** executable, void* graph);
  // A function of the driver, as of that version of CUDA; null if the driver has none.
  int (*find_driver_function)(const char* name, void** found, unsigned version);

  // The kernels' launchers.
  decltype(&cb::kernels::find_kernels) find_kernels;
  decltype(&cb::kernels::launch_cg_build) launch_cg_build;
  decltype(&cb::kernels::launch_cg_defect) launch_cg_defect;
  decltype(&cb::kernels::launch_cg_dot) launch_cg_dot;
  decltype(&cb::kernels::launch_cg_multiply) launch_cg_multiply;
  decltype(&cb::kernels::launch_cg_prolong) launch_cg_prolong;
  decltype(&cb::kernels::launch_cg_random) launch_cg_random;
  decltype(&cb::kernels::launch_cg_restrict) launch_cg_restrict;
  decltype(&cb::kernels::launch_cg_set) launch_cg_set;
  decltype(&cb::kernels::launch_cg_sweep) launch_cg_sweep;
  decltype(&cb::kernels::launch_cg_update) launch_cg_update;
  decltype(&cb::kernels::launch_chain) launch_chain;
  decltype(&cb::kernels::launch_chase) launch_chase;
  decltype(&cb::kernels::launch_compare) launch_compare;
  decltype(&cb::kernels::launch_copy) launch_copy;
  decltype(&cb::kernels::launch_count) launch_count;
  decltype(&cb::kernels::launch_damage) launch_damage;
  decltype(&cb::kernels::launch_fill) launch_fill;
  decltype(&cb::kernels::launch_fill_terms) launch_fill_terms;
  decltype(&cb::kernels::launch_fill_words) launch_fill_words;
  decltype(&cb::kernels::launch_gemm_check) launch_gemm_check;
  decltype(&cb::kernels::launch_gemm_fill) launch_gemm_fill;
  decltype(&cb::kernels::launch_hash) launch_hash;
  decltype(&cb::kernels::launch_infer_attention) launch_infer_attention;
  decltype(&cb::kernels::launch_infer_choice) launch_infer_choice;
  decltype(&cb::kernels::launch_infer_embed) launch_infer_embed;
  decltype(&cb::kernels::launch_infer_gated) launch_infer_gated;
  decltype(&cb::kernels::launch_infer_into_cache) launch_infer_into_cache;
  decltype(&cb::kernels::launch_infer_mark) launch_infer_mark;
  decltype(&cb::kernels::launch_infer_norm) launch_infer_norm;
  decltype(&cb::kernels::launch_infer_onto_stream) launch_infer_onto_stream;
  decltype(&cb::kernels::launch_infer_product) launch_infer_product;
  decltype(&cb::kernels::launch_infer_row_max) launch_infer_row_max;
  decltype(&cb::kernels::launch_lu_back) launch_lu_back;
  decltype(&cb::kernels::launch_lu_fill) launch_lu_fill;
  decltype(&cb::kernels::launch_lu_move) launch_lu_move;
  decltype(&cb::kernels::launch_lu_narrow) launch_lu_narrow;
  decltype(&cb::kernels::launch_lu_plan) launch_lu_plan;
  decltype(&cb::kernels::launch_lu_residual) launch_lu_residual;
  decltype(&cb::kernels::launch_lu_solve) launch_lu_solve;
  decltype(&cb::kernels::launch_march_compare) launch_march_compare;
  decltype(&cb::kernels::launch_march_turn) launch_march_turn;
  decltype(&cb::kernels::launch_march_write) launch_march_write;
  decltype(&cb::kernels::launch_moe_add) launch_moe_add;
  decltype(&cb::kernels::launch_moe_pack) launch_moe_pack;
  decltype(&cb::kernels::launch_moe_places) launch_moe_places;
  decltype(&cb::kernels::launch_read) launch_read;
  decltype(&cb::kernels::launch_spin) launch_spin;
  decltype(&cb::kernels::launch_train_adamw) launch_train_adamw;
  decltype(&cb::kernels::launch_train_add) launch_train_add;
  decltype(&cb::kernels::launch_train_append) launch_train_append;
  decltype(&cb::kernels::launch_train_cross_entropy) launch_train_cross_entropy;
  decltype(&cb::kernels::launch_train_damage) launch_train_damage;
  decltype(&cb::kernels::launch_train_eight) launch_train_eight;
  decltype(&cb::kernels::launch_train_embed) launch_train_embed;
  decltype(&cb::kernels::launch_train_embed_backward) launch_train_embed_backward;
  decltype(&cb::kernels::launch_train_exponentials) launch_train_exponentials;
  decltype(&cb::kernels::launch_train_flash) launch_train_flash;
  decltype(&cb::kernels::launch_train_flash_backward) launch_train_flash_backward;
  decltype(&cb::kernels::launch_train_hash) launch_train_hash;
  decltype(&cb::kernels::launch_train_logits_backward) launch_train_logits_backward;
  decltype(&cb::kernels::launch_train_narrow) launch_train_narrow;
  decltype(&cb::kernels::launch_train_norm) launch_train_norm;
  decltype(&cb::kernels::launch_train_norm_backward) launch_train_norm_backward;
  decltype(&cb::kernels::launch_train_normal) launch_train_normal;
  decltype(&cb::kernels::launch_train_probabilities) launch_train_probabilities;
  decltype(&cb::kernels::launch_train_rotate) launch_train_rotate;
  decltype(&cb::kernels::launch_train_row_max) launch_train_row_max;
  decltype(&cb::kernels::launch_train_softmax) launch_train_softmax;
  decltype(&cb::kernels::launch_train_softmax_backward) launch_train_softmax_backward;
  decltype(&cb::kernels::launch_train_squares) launch_train_squares;
  decltype(&cb::kernels::launch_train_swiglu) launch_train_swiglu;
  decltype(&cb::kernels::launch_train_swiglu_backward) launch_train_swiglu_backward;
  decltype(&cb::kernels::launch_triad) launch_triad;
  decltype(&cb::kernels::launch_triad_check) launch_triad_check;
  decltype(&cb::kernels::launch_triad_fill) launch_triad_fill;
  decltype(&cb::kernels::launch_verify) launch_verify;
  decltype(&cb::kernels::launch_verify_byte) launch_verify_byte;
  decltype(&cb::kernels::launch_verify_terms) launch_verify_terms;
  decltype(&cb::kernels::launch_verify_words) launch_verify_words;
};

}  // namespace cb::kernels
