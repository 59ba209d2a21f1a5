#include "bench/collectives/moe/row_exchange.h"

#include <climits>
#include <numeric>

namespace cb::moe {
namespace {

constexpr size_t kWord = 8;

// Counts and offsets in words, as MPI wants them.
struct InWords {
  std::vector<int> counts, offsets;
};

InWords in_words(const RowBlocks& blocks) {
  InWords out;
  size_t at = 0;
  for (const int64_t rows : blocks.rows) {
    const size_t words = static_cast<size_t>(rows) * blocks.row_bytes / kWord;
    out.counts.push_back(static_cast<int>(words));
    out.offsets.push_back(static_cast<int>(at));
    at += words;
  }
  return out;
}

}  // namespace

size_t RowBlocks::total_rows() const {
  return static_cast<size_t>(std::accumulate(rows.begin(), rows.end(), int64_t{0}));
}

bool RowExchange::countable(const RowBlocks& blocks) { return blocks.bytes() / kWord <= INT_MAX; }

void RowExchange::counts(const std::vector<int>& to, std::vector<int>& from) const {
  mpi::check(MPI_Alltoall(to.data(), 1, MPI_INT32_T, from.data(), 1, MPI_INT32_T, comm_),
             "MPI_Alltoall");
}

void RowExchange::rows(const std::byte* send, const RowBlocks& out, std::byte* receive,
                       const RowBlocks& in) const {
  const InWords s = in_words(out), r = in_words(in);
  mpi::check(MPI_Alltoallv(send, s.counts.data(), s.offsets.data(), MPI_UINT64_T, receive,
                           r.counts.data(), r.offsets.data(), MPI_UINT64_T, comm_),
             "MPI_Alltoallv");
}

}  // namespace cb::moe
