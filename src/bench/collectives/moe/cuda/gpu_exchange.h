#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bench/collectives/moe/expert_exchange.h"
#include "bench/collectives/nccl/comms.h"
#include "bench/collectives/nccl/cuda/gpu.h"
#include "bench/collectives/nccl/failure_words.h"
#include "bench/gpu/cuda/session.h"
#include "kernels/moe.h"

namespace cb::moe {

// What all points share.
struct GpuMoeTools {
  Context& context;
  const GroupComm& group;
  const nccl::Library& library;
  const GpuUnit& unit;
  double hang_after;  // seconds of a wait for the GPU
};

// Dispatch and combine on a GPU: kernels pack and add, NCCL exchanges, all in one stream. A device
// that fails ends the calls that wait for it here and, by a word of MPI, on the other ranks;
// agree() then says so.
class GpuExchange final : public ExpertExchange {
 public:
  // Takes memory. `number` is another one for each exchange of a case. connect() comes next.
  GpuExchange(Routes routes, const TokenData& data, std::vector<std::string> who_of_rank,
              const GpuMoeTools& tools, std::string point, int number);
  ~GpuExchange() override;
  // Collective. Makes the communicator, and the connections of all ranks, outside of any time.
  void connect();

  // Bytes of the GPU.
  static uint64_t device_bytes(const Routes& routes, const TokenFormat& format);

  void prepare(uint64_t iteration) override;
  void poison_rows() override;
  void poison_returned() override;
  void dispatch() override;
  void dispatch_rows() override;
  void run_experts() override;
  void combine() override;
  void combine_rows() override;
  void add_rows() override;
  std::optional<double> device_seconds() const override { return seconds_; }
  void announce(const std::string& what) override;
  void agree() override;

 private:
  // What this rank knows of a failure; the rank that knows most tells it.
  enum class Broken { no, by_another, by_the_library, here };

  using Buffer = std::unique_ptr<nccl::DeviceBuffer>;

  // What lies on the GPU. It is left behind there where the GPU has failed: freeing would wait for
  // what is queued, perhaps for ever.
  struct OnGpu {
    OnGpu(const GpuExchange& of, const GpuUnit& unit);

    nccl::Devices devices;
    nccl::Gpu* gpu;
    Buffer tokens, send, receive, results, returned, sums;
    // tokens × top_k, tokens × ranks; of the ranks, to them and behind it from them.
    cuda::DeviceMemory experts, weights, places, counts;
    cuda::HostMemory told;  // counts from the ranks
    cuda::Event begin, counting, packed, end;
  };

  bool guards_intact() const override;
  void fetch_rows() override;
  void store_rows() override;
  void fetch_sums() override;
  void store_sums() override;
  void flip_guard() override;
  void upload_routes();
  void look_at_guards();
  void await_exchange(const char* what);
  void attempt(const char* what, const std::function<void()>& call);
  void broke(Broken how, const char* what, const std::exception& e);
  void look_at_gpu(const char* what);
  void timed_call(const char* what, const std::function<void()>& queue,
                  const std::function<void()>& wait = {});
  void find_places();
  void exchange_counts();
  void pack();
  void exchange(const Buffer& send, const RowBlocks& out, const Buffer& receive,
                const RowBlocks& in);
  void add();
  kernels::MoeRoutes routes_there() const;
  void fetch(CollectiveBuffer& to, const Buffer& from);
  void store(const Buffer& to, CollectiveBuffer& from);
  const cuda::Stream& stream() const { return there_->gpu->queue(); }
  int32_t* counts(size_t first) const {
    return static_cast<int32_t*>(there_->counts.data()) + first * counts_from_.size();
  }

  GpuMoeTools tools_;
  std::string point_;
  int number_;
  std::unique_ptr<OnGpu> there_;
  std::unique_ptr<nccl::Communicators> comms_;
  std::unique_ptr<nccl::FailureWords> words_;  // what comms_ listens to
  std::optional<double> seconds_;
  bool guards_there_ = true;
  Broken broken_ = Broken::no;
  Said failed_;
};

}  // namespace cb::moe
