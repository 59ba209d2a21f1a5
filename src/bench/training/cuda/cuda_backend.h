#pragma once

#include <memory>
#include <string>

#include "bench/training/backend.h"
#include "sys/gpu/cuda/cublaslt.h"

namespace cb::training {

struct CudaSettings {
  double deadline_seconds = 120;        // of a wait for what is queued
  int64_t attention_block_rows = 1024;  // of scores at a time
};

// Computes in fp32 on the device that is selected, on one stream: products by cuBLASLt without
// tensor cores, the rest by kernels/train.h. A call that fails or does not come to an end throws
// Error naming the device; memory of such a device is left behind, for freeing it may wait for
// ever. The calling thread must keep the device selected.
std::unique_ptr<Backend<float>> cuda_backend(const cublaslt::Library& library,
                                             const CudaSettings& settings = {});

// What the backend allocates by itself while it computes such steps: bytes of scores, tokens and
// the library's room.
double cuda_scratch_bytes(const AttentionShape& shape, const CudaSettings& settings = {});

}  // namespace cb::training
