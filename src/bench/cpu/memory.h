#pragma once

#include <cstdint>
#include <memory>

#include "bench/harness/case.h"

namespace cb {

// Collective. Throws Error on every rank, naming the host that lacks it, unless `bytes` fit into 80
// % of every rank's part of the memory available: an array that the kernel must swap or kill for
// measures nothing.
void require_memory(Context& context, int64_t bytes);

// Collective. Throws Error on every rank if `failure` is not empty on one, so that none waits for
// it in the next collective.
void throw_where_failed(Comm& comm, const Said& failure);

struct FreeMemory {
  void operator()(void* p) const;
};

// Untouched memory aligned to 2 MiB, for which huge pages are advised, so that the thread that
// touches a page first places it. Throws Error if there is none.
template <typename T>
using Pages = std::unique_ptr<T[], FreeMemory>;
void* allocate_pages(int64_t bytes);

template <typename T>
Pages<T> make_pages(size_t count) {
  return Pages<T>(static_cast<T*>(allocate_pages(static_cast<int64_t>(count * sizeof(T)))));
}

}  // namespace cb
