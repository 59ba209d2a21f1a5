#pragma once

#include <functional>

#include "bench/training/cuda/cuda_backend.h"
#include "bench/training/cuda/gpu_links.h"
#include "bench/training/cuda/gpu_tools.h"

namespace cb::training {

// What a rank computes on its one GPU.
struct GpuWork {
  const CudaSettings& settings;
  const Layout& layout;
  bool exchanges = false;        // with the GPUs of other ranks, by NCCL
  std::function<void()> linked;  // once communicators have taken their memory; collective
  std::function<void(GpuBackend&, Fabric<float>&)> run;
};

// What fails on the device is why the unit is lost, and thrown where other ranks cannot go on
// without it; the rest is an error of the point. A rank that fails makes those that exchange with
// it fail too: they do not wait for it.
void work_on_gpu(Context& context, const GpuTools& tools, GpuUnit& unit, const GpuWork& work);

}  // namespace cb::training
