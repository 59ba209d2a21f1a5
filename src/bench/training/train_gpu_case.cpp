// The training step of train_case.cpp, one GPU a rank: products by cuBLASLt, the rest by own
// kernels. Counted: tokens over the seconds of a whole step. docs/methods/training.md.
#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/gpu/measure.h"
#include "bench/harness/shared_params.h"
#include "bench/training/gpu_training.h"
#include "bench/training/scaling.h"
#include "bench/training/train_record.h"
#include "core/param_builder.h"

namespace cb {
std::vector<ParamDef> one_gpu_params() {
  using namespace param;
  return {
      integer("gpu")
          .help(
              "which GPU of one rank, by its index as nvidia-smi has it; without it the first, and "
              "each of several ranks takes its own")
          .at_least(0),
      duration("hang-after")
          .help("a wait for the GPU, or for the GPUs of other ranks, that takes longer is a hang")
          .by_default("120s")
          .range(1, 3600)};
}

namespace {

CaseInfo describe_on_gpu() {
  std::vector<MetricDef> metrics = training::training_metrics(
      "MFU: the model's operations over the peak of --dtype at the clock measured");
  metrics.push_back(
      {"share_of_spec", "share", Better::higher, "MFU over the maker's dense peak of --dtype"});
  metrics.push_back({"clock_hertz", "hertz", Better::higher, "of the SMs, over the steps"});
  metrics.push_back({"watts", "watts", Better::lower, "of the GPU, over the steps"});
  metrics.push_back({"joules_per_token", "joules", Better::lower,
                     "of the GPU at its mean power, over its share of the tokens"});
  std::vector<std::string> checks = training::training_checks();
  checks.emplace_back("gpu");
  return {
      .name = "train",
      .device = "gpu",
      .summary = "training steps of a decoder on GPUs, one a rank: tokens per second and MFU",
      .example =
          "clusterbench train --device gpu --dtype bf16 --model llama-8b --layers 2 --sequence "
          "4096 "
          "--micro-batch 1 --steps 20 --json t.json",
      .domain = "compute",
      .needs = {.gpu = true},
      .params = joined({{device_param("gpu", "where to train")},
                        training::option_params({"fp32", "bf16", "fp8"}),
                        training::scaling_params(),
                        one_gpu_params()}),
      .metrics = std::move(metrics),
      .checks = std::move(checks),
      .fault = training::training_fault(),
      .label_params = {"model", "scaling", "level"},
  };
}

}  // namespace

Case train_gpu_case() {
  return {describe_on_gpu(), measure_gpu_training, training::check_training, why_no_gpu};
}

}  // namespace cb
