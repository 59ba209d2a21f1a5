#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/params.h"

namespace cb {

enum class CopyKind { host, local, peer, latency };

// One operation of `bandwidth --device gpu`.
struct CopyOp {
  std::string name;
  CopyKind kind;
  // Counted bytes per byte of the buffer: 1 for a payload, 2 for both directions or if device
  // memory reads and writes it, 3 for the triad (STREAM).
  int counted = 1;
};
const std::vector<CopyOp>& copy_ops();
std::vector<std::string> copy_op_names();
const CopyOp& copy_op(const std::string& name);  // throws Error for an unknown name

// The operation and parameters of one record; parameters that do not matter to it are left out.
struct CopyPoint {
  CopyOp op;
  Params params;
  int64_t bytes = 0;  // bytes of one buffer
};
std::vector<CopyPoint> copy_points(const Params& params);

}  // namespace cb
