#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "analysis/collectives.h"
#include "bench/mpi/data.h"
#include "sys/mpi.h"

namespace cb {

// Page-aligned memory between two guard zones that must stay as they were.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(size_t bytes);  // throws std::bad_alloc
  std::span<std::byte> data() { return {memory_.get() + kGuardBytes, bytes_}; }
  bool guards_intact() const;

 private:
  static constexpr size_t kGuardBytes = 4096;
  struct Free {
    void operator()(std::byte* p) const;
  };
  size_t bytes_;
  std::unique_ptr<std::byte, Free> memory_;
};

// One collective of one size over the ranks of a communicator: its data, its call and its check.
// Root is rank 0. pingpong pairs rank i with rank i + n/2 (integer division), all pairs at once;
// with an odd number of ranks the last one has no partner.
class CollectiveCall {
 public:
  // `in_place`: data are sent from the receive buffer; only where has_in_place().
  CollectiveCall(Collective collective, ElementType type, Reduction reduction,
                 const CollectiveSize& size, MPI_Comm comm, bool in_place = false);

  static uint64_t buffer_bytes(const CollectiveSize& size, uint64_t bytes_per_element) {
    return (size.send + size.receive) * bytes_per_element;
  }

  // Fresh data to send and a receive buffer that holds none of what is expected.
  void prepare(uint64_t iteration);
  // The MPI call, nothing else. Throws Error if MPI reports one.
  void run();
  // Every received element and both guard zones against what prepare(iteration) made. count 0 with
  // a text: a guard zone was written to.
  std::optional<Mismatch> verify(uint64_t iteration);
  // Flips one bit of what was received (or of a guard zone where this rank receives nothing).
  void corrupt();

  bool receives() const;
  std::optional<int> partner() const;  // of pingpong, pair_one_way, pair_two_way
  bool initiates() const { return partner() && rank_ < *partner(); }

 private:
  Terms terms(uint64_t iteration) const;
  std::optional<Mismatch> verify_data(uint64_t iteration);
  std::optional<Mismatch> verify_blocks(uint64_t iteration, uint64_t first_byte);
  std::optional<Mismatch> verify_uneven(uint64_t iteration);
  void ping_pong();
  void send_to_partner();
  void exchange_with_partner();
  void all_to_all_uneven();
  uint64_t offset_of(uint64_t from, uint64_t to) const;  // alltoallv: elements before that block
  std::span<std::byte> received();  // without what in-place calls keep behind it

  Collective collective_;
  ElementType type_;
  Reduction reduction_;
  CollectiveSize size_;
  MPI_Comm comm_;
  bool in_place_;
  int rank_ = 0;
  int ranks_ = 1;
  GuardedBuffer send_;
  GuardedBuffer receive_;
  std::vector<int> counts_, offsets_;  // alltoallv, of this rank; the matrix is symmetric
};

}  // namespace cb
