#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cb::moe {

// Rows to or from every rank, one block after the other.
struct RowBlocks {
  std::vector<int64_t> rows;  // by rank
  size_t row_bytes = 0;       // a multiple of 8
  size_t total_rows() const;
  size_t bytes() const { return total_rows() * row_bytes; }
};

}  // namespace cb::moe
