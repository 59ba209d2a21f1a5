#pragma once

#include <memory>
#include <vector>

#include "bench/collectives/call.h"
#include "bench/collectives/nccl/comms.h"
#include "bench/collectives/rank_buffers.h"

namespace cb::nccl {

enum class Register {
  none,
  user,   // ncclCommRegister, NCCL 2.19
  window  // ncclCommWindowRegister, symmetric over the ranks, NCCL 2.27
};

struct CallOptions {
  Register registering = Register::none;
  bool graph = false;
};

// The number of calls of this length that are timed together: they fill 20 ms, but are at least 5
// and at most 20 (the default of nccl-tests' -n). This way, leaving the barrier and seeing the end
// add little to the time of a call.
int calls_of_iteration(double seconds);

// A collective of NCCL on this process's devices.
class NcclCall final : public CollectiveCall {
 public:
  // The constructor fills in rank and ranks of `spec`.
  NcclCall(RankBuffersSpec spec, Communicators& comms, const CallOptions& options);
  ~NcclCall() override;

  void prepare(uint64_t iteration) override;
  void run() override;
  int calls() const override { return calls_; }
  // Sets the number of calls that run back to back and are timed together; 1 before. Makes the
  // graph if one was asked for.
  void set_calls(int calls);
  // Adds one call on this process's i-th device to the open group of calls.
  abi::Result enqueue(size_t i) { return one(i); }
  Communicators& comms() { return comms_; }
  std::optional<Mismatch> verify(uint64_t iteration) override;
  void corrupt() override { rank_buffers_.front()->corrupt(); }
  bool initiates() const override { return rank_buffers_.front()->initiates(); }

  // The library's own estimate of one call in seconds, if it gives one.
  std::optional<double> estimate();

  // Counts of the buffers that were registered. If NCCL ignores a registration, it reports success
  // but gives no handle: the buffer is not taken.
  struct Registrations {
    size_t taken = 0, asked = 0;
  };
  Registrations registrations() const;

 private:
  void queue();  // queues one call on every device
  void queue_ping_pong();
  abi::Result one(size_t i);
  abi::Result to_partner(size_t i, bool sends, bool receives);
  abi::Result all_to_all(size_t i);
  abi::Result all_to_all_uneven(size_t i);
  abi::Result to_root(size_t i);
  abi::Result from_root(size_t i);
  void make_reductions(Reduction reduction);
  void register_buffers();
  void give_back();  // deregisters buffers and destroys operations
  void record_graph();

  // A registered buffer: its communicator and handle.
  struct Registered {
    size_t comm;
    void* base;
    uint64_t bytes;
    void* handle = nullptr;
    abi::Window window = nullptr;
  };

  Communicators& comms_;
  CallOptions options_;
  int calls_ = 1;
  bool recorded_ = false;  // the calls are recorded as a graph
  abi::DataType type_;
  std::vector<abi::RedOp> ops_;  // one per device
  bool own_ops_ = false;         // the operations were made for these communicators
  std::vector<Registered> registered_;
  std::vector<std::unique_ptr<RankBuffers>> rank_buffers_;
};

abi::DataType data_type(ElementType type);
abi::RedOp reduction_op(Reduction reduction);  // only for reductions that need no communicator

}  // namespace cb::nccl
