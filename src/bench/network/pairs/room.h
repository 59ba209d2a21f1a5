#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "bench/harness/case.h"
#include "sys/os/fs_root.h"

namespace cb {

// Collective. Throws the same UsageError on every rank unless the messages of `ranks` ranks of each
// host, `bytes` each, fit into three quarters of its available memory: beyond it the kernel ends
// processes.
void require_room(Context& context, uint64_t bytes, int ranks);

// Returns those three quarters of what this host has available now. Nothing if it cannot be read.
std::optional<uint64_t> room_for_messages(const FsRoot& fs);

// A transfer of an earlier round that missed its deadline and has not ended since: this rank keeps
// its buffers.
struct UnendedTransfer {
  uint64_t round = 0;
  int from = 0;  // ranks
  int to = 0;
  uint64_t bytes = 0;  // of its buffers on this rank
};

// What messages take on this rank, and may take on its host.
struct HeldMemory {
  std::vector<UnendedTransfer> unended;
  uint64_t next_round = 0;            // bytes
  std::optional<uint64_t> room = {};  // bytes for all ranks of the host
};

// Collective. Throws the same Error on every rank unless what the ranks of each host hold, and need
// for the next round, fits into its room. The error names the pairs that do not answer.
void require_room_beside(Context& context, const HeldMemory& mine);

}  // namespace cb
