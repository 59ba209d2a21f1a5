// Every SM by itself: each block computes the same chain of multiply-adds; the host knows its
// result.
#include <map>
#include <span>

#include <fmt/format.h>

#include "bench/gpu/cuda/burner_base.h"
#include "bench/gpu/gpu_plan.h"
#include "kernels/sm_chain.h"

namespace cb {
namespace {

class SmBurner final : public BurnerBase {
 public:
  explicit SmBurner(const BurnMaker& maker)
      : BurnerBase(maker),
        blocks_(static_cast<unsigned>(maker.unit->device.sms) * kBlocksPerSm),
        wanted_(kernels::chain_block_result(kIterations)),
        results_(blocks_ * sizeof(kernels::ChainResult)) {
    prepare_answers(results_.bytes());
  }

  void start(double seconds) override {
    const int64_t count = repetitions(one_seconds_, seconds, kMaxQueued);
    // Both of one type: -1 beside an unsigned number would be a block that no launch has.
    const int64_t damaged = take_fault() == Fault::none ? int64_t{-1} : int64_t{blocks_ / 2};
    counts_[begin()] = count;
    cuda::zero(results_.data(), results_.bytes(), stream_);
    for (int64_t i = 0; i < count; ++i) {
      cuda::check_launch(
          kernels::launch_chain(static_cast<kernels::ChainResult*>(results_.data()), blocks_,
                                kIterations, wanted_, i == 0 ? damaged : -1, stream_.handle()),
          "chain");
    }
    end();
    answer(results_);
  }

  double finish(double deadline) override {
    const size_t step = wait(deadline);
    const auto count = static_cast<uint64_t>(counts_[step]);
    one_seconds_ = seconds_ / static_cast<double>(count);
    const std::span found(answer_of<kernels::ChainResult>(step), blocks_);
    findings_.passes += count;
    std::map<uint32_t, uint64_t> wrong;  // SM → results
    for (const kernels::ChainResult& r : found) {
      if (r.wrong > 0) wrong[r.sm] += r.wrong;
    }
    for (const auto& [sm, results] : wrong)
      note(results, said("burn.sm_wrong", sm, results, wrong.size()));
    // A turn has two fused multiply-adds; integer steps are not counted.
    return 4.0 * kIterations * kernels::chain_threads * blocks_ * static_cast<double>(count);
  }

 private:
  // The number of blocks that an SM holds at once, so that every SM gets work.
  static constexpr unsigned kBlocksPerSm = 8;
  static constexpr uint32_t kIterations = 20000;

  unsigned blocks_;
  uint64_t wanted_;
  cuda::DeviceMemory results_;
  double one_seconds_ = kUnknownSeconds;
  std::array<int64_t, kMaxSteps> counts_ = {};
};

}  // namespace

std::unique_ptr<Burner> sm_burner(const BurnMaker& maker) {
  return std::make_unique<SmBurner>(maker);
}

}  // namespace cb
