#pragma once

#include <cstdint>

namespace cb {

// A namespace of a generic character device (/dev/ng0n1).
struct NvmeNamespace {
  uint32_t id = 0;
  uint64_t blocks = 0;
  uint32_t block_bytes = 0;
};

// Asks the drive (Identify Namespace). Throws Error naming what failed; also if the namespace has
// metadata in its blocks.
NvmeNamespace identify_nvme_namespace(int fd);

}  // namespace cb
