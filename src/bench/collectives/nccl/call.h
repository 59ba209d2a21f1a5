#pragma once

#include <memory>
#include <vector>

#include "bench/collectives/call.h"
#include "bench/collectives/nccl/comms.h"
#include "bench/collectives/share.h"

namespace cb::nccl {

enum class Register {
  none,
  user,   // ncclCommRegister, 2.19
  window  // ncclCommWindowRegister, symmetric over the ranks, 2.27
};

struct CallOptions {
  Register registering = Register::none;
  bool graph = false;
};

// How many calls of this length are timed together: what fills 20 ms, at least 5 and at most 20
// (the default of nccl-tests' -n), so that leaving the barrier and seeing the end are no part of a
// call.
int calls_of_iteration(double seconds);

// A collective of NCCL on this process's devices.
class NcclCall final : public CollectiveCall {
 public:
  // `spec`'s rank and ranks are filled in here.
  NcclCall(ShareSpec spec, Communicators& comms, const CallOptions& options);
  ~NcclCall() override;

  void prepare(uint64_t iteration) override;
  void run() override;
  int calls() const override { return calls_; }
  // Back to back, timed together, from now on: one until this is called. Makes the graph, if one
  // was asked for.
  void set_calls(int calls);
  std::optional<Mismatch> verify(uint64_t iteration) override;
  void corrupt() override { shares_.front()->corrupt(); }
  bool initiates() const override { return shares_.front()->initiates(); }

  // The library's own estimate of one call in seconds, where it gives one.
  std::optional<double> estimate();

  // Buffers that the library has taken, and those that it was told of. NCCL says success with no
  // handle where it ignores a registration.
  struct Registrations {
    size_t taken = 0, asked = 0;
  };
  Registrations registrations() const;

 private:
  void queue();  // one call on every device
  void queue_ping_pong();
  abi::Result one(size_t i);
  abi::Result to_partner(size_t i, bool sends, bool receives);
  abi::Result all_to_all(size_t i);
  abi::Result all_to_all_uneven(size_t i);
  abi::Result to_root(size_t i);
  abi::Result from_root(size_t i);
  void make_reductions(Reduction reduction);
  void register_buffers();
  void give_back();  // buffers and operations that the library was told of
  void record_graph();

  // A buffer as it was registered: on which communicator, and the handle.
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
  bool recorded_ = false;  // the calls, as a graph
  abi::DataType type_;
  std::vector<abi::RedOp> ops_;  // by device
  bool own_ops_ = false;         // made for these communicators
  std::vector<Registered> registered_;
  std::vector<std::unique_ptr<CollectiveShare>> shares_;
};

abi::DataType data_type(ElementType type);
abi::RedOp reduction_op(Reduction reduction);  // of those that need no communicator

}  // namespace cb::nccl
