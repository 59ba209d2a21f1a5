#include "sys/gpu/cuda/graph.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

namespace cb::cuda {
namespace {

// What is not recorded is no failure of the device: nothing of it, so that all ranks say the same.
void demand(cudaError_t code, const char* call) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  throw Error(fmt::format("{}: {} ({})", call, cudaGetErrorString(code), cudaGetErrorName(code)));
}

cudaStream_t stream_of(const Stream& stream) { return static_cast<cudaStream_t>(stream.handle()); }

}  // namespace

Graph::~Graph() {
  if (handle_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(handle_));
}

void Graph::begin(const Stream& stream) {
  demand(cudaStreamBeginCapture(stream_of(stream), cudaStreamCaptureModeThreadLocal),
         "cudaStreamBeginCapture");
}

void Graph::end(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  demand(cudaStreamEndCapture(stream_of(stream), &graph), "cudaStreamEndCapture");
  cudaGraphExec_t made = nullptr;
  const cudaError_t code = cudaGraphInstantiate(&made, graph, 0);
  cudaGraphDestroy(graph);
  demand(code, "cudaGraphInstantiate");
  if (handle_ != nullptr) cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(handle_));
  handle_ = made;
}

void Graph::abandon(const Stream& stream) {
  cudaGraph_t graph = nullptr;
  if (cudaStreamEndCapture(stream_of(stream), &graph) == cudaSuccess && graph != nullptr)
    cudaGraphDestroy(graph);
  forget_error();
}

void Graph::launch(const Stream& stream) const {
  check_launch(cudaGraphLaunch(static_cast<cudaGraphExec_t>(handle_), stream_of(stream)),
               "cudaGraphLaunch");
}

}  // namespace cb::cuda
