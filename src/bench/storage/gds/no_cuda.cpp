#include "bench/storage/gds/memory.h"
#include "core/error.h"

namespace cb::gds {

std::unique_ptr<IoMemory> gpu_memory(std::optional<int>, int, size_t) {
  throw Error(said("gpu.built_without_or_host"));
}

}  // namespace cb::gds
