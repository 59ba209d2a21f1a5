#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bench/gpu/cuda/session.h"
#include "bench/harness/sampler.h"

namespace cb {

struct OverheadPlan {
  int64_t launches = 200;  // of a sample
  int64_t copy_bytes = 8;
  int64_t allocation_bytes = 1 << 20;
};

// Times one kind of host's work for one GPU. Made on the GPU's device.
class OverheadProbe {
 public:
  virtual ~OverheadProbe() = default;
  // Names of the metrics that sample() gives, each a figure in seconds.
  virtual std::vector<std::string> names() const = 0;
  // Adds one figure of each name.
  virtual void sample(Spans& spans) = 0;
  // True if the data of all samples so far are right. `spoilt`: changed before they are looked at.
  // Else `what` tells what was wrong.
  virtual bool right(bool spoilt, Said& what) = 0;
  virtual const char* check() const = 0;  // name of the check
};

// op: a value of the case's --op.
std::unique_ptr<OverheadProbe> overhead_probe(const std::string& op, const OverheadPlan& plan,
                                              const GpuUnit& unit);

}  // namespace cb
