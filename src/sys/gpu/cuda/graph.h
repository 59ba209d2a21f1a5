#pragma once

#include "sys/gpu/cuda/cuda.h"

namespace cb::cuda {

// Work that is recorded once from a stream and then launched as a whole.
class Graph {
 public:
  Graph() = default;
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // Work queued on the stream between begin() and end() is recorded and not run. end() replaces an
  // earlier recording.
  static void begin(const Stream& stream);
  void end(const Stream& stream);
  void launch(const Stream& stream) const;
  // Ends a recording that failed, and keeps nothing of it.
  static void abandon(const Stream& stream);

 private:
  void* handle_ = nullptr;  // a cudaGraphExec_t
};

}  // namespace cb::cuda
