#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "sys/fs_root.h"

namespace cb {

// MemAvailable of /proc/meminfo in bytes: what can be taken without swapping.
std::optional<int64_t> available_memory_bytes(const FsRoot& fs);

// Throws Error naming the host unless `bytes` fit into 80 % of this rank's part of the memory
// available: an array that the kernel must swap or kill for measures nothing.
void require_memory(const FsRoot& fs, const std::string& host, int ranks_on_host, int64_t bytes);

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
