#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sys/mpi/mpi.h"

namespace cb::moe {

// Rows to or from every rank, one block after the other.
struct RowBlocks {
  std::vector<int64_t> rows;  // by rank
  size_t row_bytes = 0;       // a multiple of 8
  size_t total_rows() const;
  size_t bytes() const { return total_rows() * row_bytes; }
};

// The layer below dispatch and combine: MPI in host memory. Another library needs these two calls
// and nothing else.
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
