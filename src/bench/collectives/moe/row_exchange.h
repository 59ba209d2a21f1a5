#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench/collectives/moe/row_blocks.h"
#include "sys/mpi/mpi.h"

namespace cb::moe {

// The layer below dispatch and combine in host memory: MPI.
class RowExchange {
 public:
  explicit RowExchange(MPI_Comm comm) : comm_(comm) {}
  // Tells every rank a number and takes theirs.
  void counts(const std::vector<int>& to, std::vector<int>& from) const;
  // Both have the row size of the same phase.
  void rows(const std::byte* send, const RowBlocks& out, std::byte* receive,
            const RowBlocks& in) const;
  // False if a call cannot count that many bytes.
  static bool countable(const RowBlocks& blocks);

 private:
  MPI_Comm comm_;
};

}  // namespace cb::moe
