#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bench/collectives/buffer.h"
#include "model/collectives.h"

namespace cb {

// Where an in-place call has its data and its result: libraries differ.
enum class InPlace {
  no,
  mpi,  // reduce_scatter: the rank's block is at the beginning of the buffer
  nccl  // reduce_scatter: the rank's block is at the rank's place in it
};

// One collective of one size, seen from one rank. Root is rank 0. Pairwise operations pair rank i
// with rank i + n/2 (integer division), all pairs at once. With an odd number of ranks the last one
// has no partner.
struct RankBuffersSpec {
  Collective collective = Collective::all_reduce;
  ElementType type = ElementType::float32;
  Reduction reduction = Reduction::sum;
  CollectiveSize size = {};
  int rank = 0;
  int ranks = 1;
  InPlace in_place = InPlace::no;
};

// A rank's buffers in a collective. It makes what the rank sends and checks what it received. The
// library makes the call itself.
class RankBuffers {
 public:
  using MakeBuffer = std::function<std::unique_ptr<CollectiveBuffer>(uint64_t bytes)>;
  RankBuffers(const RankBuffersSpec& spec, const MakeBuffer& make);

  // Bytes of both buffers together.
  static uint64_t buffer_bytes(const CollectiveSize& size, uint64_t bytes_per_element) {
    return (size.send + size.receive) * bytes_per_element;
  }

  // Makes fresh data to send, and clears the receive buffer of everything that is expected.
  void prepare(uint64_t iteration);
  // Compares every received element and the guard zones with what prepare(iteration) made. A count
  // of 0 with a text means that a guard zone was overwritten.
  std::optional<Mismatch> verify(uint64_t iteration);
  // Flips one bit of what was received, or of a guard zone if this rank receives nothing.
  void corrupt();

  const RankBuffersSpec& spec() const { return spec_; }
  std::byte* send() { return in_place() ? receive_->data() + source_at() : send_->data(); }
  std::byte* receive() { return receive_->data(); }
  std::byte* result() { return receive_->data() + result_at(); }
  bool receives() const;
  std::optional<int> partner() const;  // nothing if this rank has none
  bool initiates() const { return partner() && spec_.rank < *partner(); }
  // alltoallv, by peer: number of elements to and from it (the matrix is symmetric), and their
  // offsets.
  const std::vector<uint64_t>& counts() const { return counts_; }
  const std::vector<uint64_t>& offsets() const { return offsets_; }

 private:
  bool in_place() const { return spec_.in_place != InPlace::no; }
  uint64_t width() const { return element_bytes(spec_.type); }
  uint64_t self() const { return static_cast<uint64_t>(spec_.rank); }
  uint64_t source_at() const;  // bytes; offset of an in-place call's data in the receive buffer
  uint64_t result_at() const;
  Terms terms(uint64_t iteration) const;
  std::optional<Mismatch> verify_data(uint64_t iteration);
  std::optional<Mismatch> verify_blocks(uint64_t iteration, uint64_t first_byte);
  std::optional<Mismatch> verify_uneven(uint64_t iteration);
  uint64_t offset_of(uint64_t from, uint64_t to) const;  // alltoallv: elements before that block

  RankBuffersSpec spec_;
  std::unique_ptr<CollectiveBuffer> send_;
  std::unique_ptr<CollectiveBuffer> receive_;
  std::vector<uint64_t> counts_, offsets_;
};

}  // namespace cb
