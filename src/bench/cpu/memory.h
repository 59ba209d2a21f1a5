#pragma once

#include <cstdint>
#include <memory>

#include "bench/harness/case.h"

namespace cb {

// Throws Error on every rank unless `bytes` fit into 80 % of every rank's part of the available
// memory; the error names the host that lacks it. An array that makes the kernel swap or kill
// measures nothing. Collective.
void require_memory(Context& context, int64_t bytes);

struct FreeMemory {
  void operator()(void* p) const;
};

// Untouched memory, aligned to 2 MiB, with huge pages advised. The thread that touches a page first
// places it. Throws Error if there is no memory.
template <typename T>
using Pages = std::unique_ptr<T[], FreeMemory>;
void* allocate_pages(int64_t bytes);

template <typename T>
Pages<T> make_pages(size_t count) {
  return Pages<T>(static_cast<T*>(allocate_pages(static_cast<int64_t>(count * sizeof(T)))));
}

}  // namespace cb
