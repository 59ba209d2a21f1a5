#include "sys/cuda/graph.h"

#include <cuda_runtime_api.h>

namespace cb::cuda {
namespace {

void check(cudaError_t code, const char* call) { check_launch(static_cast<int>(code), call); }

cudaStream_t native(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle()); }

}  // namespace

Graph::~Graph() {
  if (handle_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(handle_));
}

void Graph::begin(const Stream& stream) {
  check(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal),
        "cudaStreamBeginCapture");
}

void Graph::end(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamEndCapture(native(stream), &graph), "cudaStreamEndCapture");
  cudaGraphExec_t made = nullptr;
  const cudaError_t code = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  check(code, "cudaGraphInstantiate");
  if (handle_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(handle_));
  handle_ = made;
}

void Graph::launch(const Stream& stream) const {
  check(cudaGraphLaunch(static_cast<cudaGraphExec_t>(handle_), native(stream)), "cudaGraphLaunch");
}

}  // namespace cb::cuda
