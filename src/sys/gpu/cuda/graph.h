#pragma once

#include "sys/gpu/cuda/cuda.h"

namespace cb::cuda {

// Work that was queued on a stream once and is launched as one from then on.
class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // What is queued on the stream between the two is recorded and not run. end() replaces what was
  // recorded before.
  static void begin(const Stream& stream);
  void end(const Stream& stream);
  void launch(const Stream& stream) const;
  // Ends a recording that went wrong; nothing of it is kept.
  static void abandon(const Stream& stream);

 private:
  void* handle_ = nullptr;  // a cudaGraphExec_t
};

}  // namespace cb::cuda
