// Device memory: copied to and fro at full bandwidth, and marched through test by test.
#include <fmt/format.h>

#include "bench/gpu/cuda/burner_base.h"
#include "bench/gpu/gpu_plan.h"
#include "kernels/fill_verify.h"
#include "kernels/march.h"
#include "kernels/sm_chain.h"
#include "kernels/stream.h"

namespace cb {
namespace {

// Two halves of memory. Copies move the pattern to and fro. After each step every byte is compared.
class MemoryBurner final : public BurnerBase {
 public:
  explicit MemoryBurner(const BurnMaker& maker)
      : BurnerBase(maker),
        bytes_(usable_bytes(maker) / 2 / 16 * 16),
        seed_(maker.seed),
        from_(bytes_),
        to_(bytes_),
        result_(sizeof(kernels::VerifyResult)) {
    prepare_answers(result_.bytes());
    cuda::check_launch(kernels::launch_fill(from_.data(), bytes_, seed_, stream_.handle()), "fill");
    cuda::wait(stream_, kGpuHangSeconds, "filling memory");
  }

  void start(double seconds) override {
    const int64_t count =
        repetitions(copy_seconds_, seconds, 100) | 1;  // odd: the last copy ends in the other half
    const Fault fault = take_fault();
    const size_t step = begin();
    for (int64_t i = 0; i < count; ++i) {
      cuda::check_launch(kernels::launch_copy(to_.data(), from_.data(), bytes_, stream_.handle()),
                         "copy");
      std::swap(from_, to_);
    }
    end();
    parts_[step] = {count, from_.data()};
    damage(from_.data(), bytes_ / 16, fault);
    cuda::check_launch(kernels::launch_verify(from_.data(), bytes_, seed_,
                                              static_cast<kernels::VerifyResult*>(result_.data()),
                                              stream_.handle()),
                       "verify");
    answer(result_);
  }

  double finish(double deadline) override {
    const size_t step = wait(deadline);
    const Part part = parts_[step];
    copy_seconds_ = seconds_ / static_cast<double>(part.count);
    if (!std::exchange(stale_, false)) compare(*answer_of<kernels::VerifyResult>(step), part.at);
    return 2.0 * static_cast<double>(bytes_) * static_cast<double>(part.count);
  }

 private:
  struct Part {
    int64_t count = 1;
    void* at = nullptr;  // where the pattern lay at the end of the step
  };

  void compare(const kernels::VerifyResult& found, void* where) {
    ++findings_.passes;
    if (found.mismatches == 0) return;
    note(found.mismatches, said("burn.copied_wrong", found.mismatches, fmt::format("{}", where),
                                fmt::format("{:#x}", found.first_mismatch)));
    // Restores the pattern, so that the next error is a new one. A step that is already queued has
    // copied this error.
    cuda::check_launch(kernels::launch_fill(from_.data(), bytes_, seed_, stream_.handle()), "fill");
    stale_ = queued() > 0;
  }

  size_t bytes_;
  uint64_t seed_;
  cuda::DeviceMemory from_, to_, result_;
  double copy_seconds_ = kUnknownSeconds;
  std::array<Part, kMaxSteps> parts_;
  bool stale_ = false;  // the next step repeats an error that was already reported
};

class MarchBurner final : public BurnerBase {
 public:
  explicit MarchBurner(const BurnMaker& maker)
      : BurnerBase(maker),
        words_(usable_bytes(maker) / 32 * 4),
        memory_(words_ * 8),
        result_(sizeof(kernels::MarchResult)) {
    prepare_answers(result_.bytes());
  }

  // Queues one step of one test. Its bytes count for the rate; the pauses of bit_fade do not.
  void start(double) override {
    parts_[begin()] = now_;
    cuda::zero(result(), sizeof(kernels::MarchResult), stream_);
    cuda::poison(&result()->first, sizeof result()->first, stream_);
    if (kernels::march_turns(now_.test))
      turn();
    else
      move();
    end();
    answer(result_);
    now_ = kernels::march_next(now_);
  }

  double finish(double deadline) override {
    const size_t at = wait(deadline);
    const kernels::MarchStep done = parts_[at];
    const auto& found = *answer_of<kernels::MarchResult>(at);
    ++findings_.passes;
    if (found.wrong > 0)
      note(found.wrong,
           said("burn.memory_test", static_cast<int>(done.test), done.step, found.wrong,
                fmt::format("{}", memory_.data()), fmt::format("{:#x}", 8 * found.first),
                fmt::format("{:#018x}", found.bits)));
    const kernels::MarchStep next = kernels::march_next(done);
    findings_.all_tests |= next.test == kernels::March::address && next.step == 0;
    return 5.0 * 8 * static_cast<double>(words_);  // reads and writes of a word: 5
  }

 private:
  kernels::MarchResult* result() const {
    return static_cast<kernels::MarchResult*>(result_.data());
  }
  uint64_t* word(size_t i) const { return reinterpret_cast<uint64_t*>(memory_.at(8 * i)); }

  // Writes; compares and inverts; compares and writes back: the memory is written three times and
  // read twice.
  void turn() {
    cuda::check_launch(
        kernels::launch_march_write(memory_.data(), words_, now_.test, now_.step, stream_.handle()),
        "march_write");
    damage(memory_.data(), words_ / 2, take_fault());
    for (const bool inverted : {false, true}) {
      if (now_.test == kernels::March::bit_fade)
        cuda::check_launch(kernels::launch_spin(kFadeSeconds, stream_.handle()), "spin");
      cuda::check_launch(kernels::launch_march_turn(memory_.data(), words_, now_.test, now_.step,
                                                    inverted, result(), stream_.handle()),
                         "march_turn");
    }
  }

  // Writes the first half, moves it to the second, and moves it back in two blocks, so that all
  // words lie shifted: a move that goes astray shows in one of the halves.
  void move() {
    const size_t half = words_ / 2, shift = kernels::march_shift_words;
    cuda::check_launch(
        kernels::launch_march_write(word(0), half, now_.test, now_.step, stream_.handle()),
        "march_write");
    copy(half, 0, half);
    damage(memory_.data(), half + half / 2, take_fault());
    copy(shift, half, half - shift);
    copy(0, half + half - shift, shift);
    compare(0, half, shift);
    compare(half, half, 0);
  }

  // All arguments are in words.
  void copy(size_t to, size_t from, size_t count) {
    cuda::check_launch(kernels::launch_copy(word(to), word(from), 8 * count, stream_.handle()),
                       "copy");
  }
  void compare(size_t at, size_t count, size_t shift) {
    cuda::check_launch(kernels::launch_march_compare(word(at), count, now_.test, now_.step, shift,
                                                     result(), stream_.handle()),
                       "march_compare");
  }

  // Seconds; dozens of refresh intervals of the memory.
  static constexpr double kFadeSeconds = 0.4;

  size_t words_;
  cuda::DeviceMemory memory_, result_;
  kernels::MarchStep now_;
  std::array<kernels::MarchStep, kMaxSteps> parts_;
};

}  // namespace

std::unique_ptr<Burner> memory_burner(const BurnMaker& maker) {
  return std::make_unique<MemoryBurner>(maker);
}

std::unique_ptr<Burner> march_burner(const BurnMaker& maker) {
  return std::make_unique<MarchBurner>(maker);
}

}  // namespace cb
