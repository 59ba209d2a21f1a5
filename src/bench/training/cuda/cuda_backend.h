#pragma once

#include <memory>
#include <string>

#include "bench/training/backend.h"
#include "bench/training/stage.h"
#include "sys/gpu/cuda/cublaslt.h"

namespace cb::training {

class DeviceQueue;

struct CudaSettings {
  double deadline_seconds = 120;        // of a wait for what is queued
  int64_t attention_block_rows = 1024;  // of scores at a time
  // Operands are rounded to bf16 before each product, which tensor cores then compute; sums,
  // weights and all else stay fp32.
  bool bf16 = false;
  // With bf16: the layers' products in eight bits; the head and attention stay.
  bool fp8 = false;
  // It generates tokens: products of few rows and attention of one token a sequence by
  // kernels/infer.h. With bf16 the cache and weights that are frozen are of bf16.
  bool generates = false;
  std::string what = "training step";  // that it waits for, in messages
};

class GpuBackend : public Backend<float> {
 public:
  // Whether the device has failed, or did not come to an end in time: nothing more is asked of it.
  virtual bool lost() const = 0;
  // Where exchanges with other GPUs are put in order.
  virtual DeviceQueue& queue() = 0;
};

// Computes in fp32 on the device that is selected, on one stream: products by cuBLASLt, those of
// fp32 without tensor cores, the rest by kernels/train.h. A call that fails or does not come to an
// end throws Error naming the device; memory of such a device is left behind, for freeing it may
// wait for ever. The calling thread must keep the device selected.
std::unique_ptr<GpuBackend> cuda_backend(const cublaslt::Library& library,
                                         const CudaSettings& settings = {});

// Whether the backend computes this attention without scores in memory (FlashAttention), or as
// products and softmax.
bool attention_is_fused(const AttentionShape& shape, const CudaSettings& settings);

// What the backend allocates by itself while it computes such steps: bytes of scores, tokens and
// the library's room.
double cuda_scratch_bytes(const Stage& stage, const CudaSettings& settings = {});

// The rate at which the device reads an array of so many bytes, the best of some passes.
double device_read_rate(GpuBackend& backend, double bytes);

}  // namespace cb::training
