#pragma once

#include <memory>
#include <variant>

#include "bench/collectives/kv/page_wire.h"

namespace cb::kv {

// The GPUs of the ranks and NCCL between those of a pair. cuda/nccl_wires.cpp has it; in a build
// without CUDA no_cuda.cpp says so.
class NcclWires {
 public:
  virtual ~NcclWires() = default;
  // Collective over both ends of the pair, one of which may fail: it throws Error.
  virtual std::unique_ptr<PageWire> make(const PairEnd& end, uint64_t bytes, uint64_t origin) = 0;
};

// Collective. Or why there are none, the same on all ranks. `hang_after`: seconds of a wait for a
// GPU alone.
std::variant<std::unique_ptr<NcclWires>, Said> open_nccl_wires(Context& context, double hang_after);

}  // namespace cb::kv
