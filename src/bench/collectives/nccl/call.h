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
  int calls = 1;  // back to back, timed together
  Register registering = Register::none;
  bool graph = false;
};

// A collective of NCCL on this process's devices.
class NcclCall final : public CollectiveCall {
 public:
  // `spec`'s rank and ranks are filled in here.
  NcclCall(ShareSpec spec, Communicators& comms, const CallOptions& options);
  ~NcclCall() override;

  void prepare(uint64_t iteration) override;
  void run() override;
  int calls() const override { return options_.calls; }
  std::optional<Mismatch> verify(uint64_t iteration) override;
  void corrupt() override { shares_.front()->corrupt(); }
  bool initiates() const override { return shares_.front()->initiates(); }

  // The library's own estimate of one call in seconds, where it gives one.
  std::optional<double> estimate();

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
  abi::DataType type_;
  std::vector<abi::RedOp> ops_;  // by device
  bool own_ops_ = false;         // made for these communicators
  std::vector<Registered> registered_;
  std::vector<std::unique_ptr<CollectiveShare>> shares_;
};

abi::DataType data_type(ElementType type);
abi::RedOp reduction_op(Reduction reduction);  // of those that need no communicator

}  // namespace cb::nccl
