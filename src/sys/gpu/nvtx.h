// Ranges that a profiler (Nsight Systems, Nsight Compute) shows on the thread's time line. NVTX is
// a header: without a profiler a range costs a few nanoseconds, and a build without CUDA has none.
#pragma once

#include <string>

namespace cb::nvtx {

// From its construction to its end, on the calling thread. Ranges of a thread nest.
class Range {
 public:
  explicit Range(const std::string& name);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

}  // namespace cb::nvtx
