#include "bench/gpu/cuda/burner.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/gpu/cuda/gemm_unit.h"
#include "bench/gpu/share_out.h"
#include "bench/gpu/vote.h"
#include "core/units.h"
#include "kernels/fill_verify.h"
#include "kernels/hash.h"
#include "kernels/march.h"
#include "kernels/sm_chain.h"
#include "kernels/stream.h"

namespace cb {
namespace {

constexpr int64_t kMostQueued = 500;  // products of a step: each is two launches

int selected(const GpuUnit& unit) {
  cuda::select(unit.device.ordinal);
  return unit.device.ordinal;
}

// Stream, events and findings of a phase.
class Base : public Burner {
 public:
  explicit Base(const BurnMaker& maker)
      : ordinal_(selected(*maker.unit)),
        where_(fmt::format("{} ({})", entity_name(maker.unit->entity), maker.unit->device.uuid)),
        phase_(maker.phase) {}

  double step_seconds() const override { return seconds_; }
  const BurnFindings& findings() const override { return findings_; }
  void inject(Fault fault) override { fault_ = fault; }
  void hang(double seconds) override {
    cuda::select(ordinal_);
    cuda::check_launch(kernels::launch_spin(seconds, stream_.handle()), "spin");
  }

 protected:
  void begin() {
    cuda::select(ordinal_);
    begin_.record(stream_);
  }
  void end() { end_.record(stream_); }
  void wait(double deadline) {
    cuda::select(ordinal_);
    end_.wait(deadline, "a step of " + phase_);
    seconds_ = end_.seconds_since(begin_);
  }
  Fault take_fault() { return std::exchange(fault_, Fault::none); }
  void note(uint64_t wrong, const std::string& what) {
    findings_.wrong += wrong;
    if (wrong > 0 && findings_.first.empty()) findings_.first = where_ + ": " + what;
  }

  int ordinal_;
  std::string where_, phase_;
  cuda::Stream stream_;
  cuda::Event begin_, end_;
  BurnFindings findings_;
  double seconds_ = 0;
  Fault fault_ = Fault::none;
};

size_t usable_bytes(const BurnMaker& maker) {
  return static_cast<size_t>(static_cast<double>(cuda::memory_info().free_bytes) *
                             maker.memory_share);
}

// ---- Products ----

class ProductBurner final : public Base {
 public:
  explicit ProductBurner(const BurnMaker& maker)
      : Base(maker),
        size_(maker.size),
        numbers_(gemm_numbers(maker.phase)),
        matmul_(*maker.library, maker.phase, maker.size, maker.size, maker.size),
        workspace_(kWorkspace) {
    const auto proposals = matmul_.proposals(1, kWorkspace);
    if (proposals.empty())
      throw Error(fmt::format("{}: cuBLASLt {} multiplies no {} of {}", where_,
                              maker.library->version(), maker.phase, maker.size));
    algorithm_ = proposals[0];
    kind_ = fmt::format("{} {} SMs, cuBLASLt {}, {} {}, algorithm {:016x}, seed {}",
                        maker.unit->device.name, maker.unit->device.sms, maker.library->version(),
                        maker.phase, maker.size, fmt::join(algorithm_.bytes, ""), maker.seed);
    make_buffers(maker);
  }

  std::string kind() const override { return kind_; }

  uint64_t hash() override {
    cuda::select(ordinal_);
    product(0);
    hash_of(0);
    kernels::HashResult out{};
    cuda::copy(&out, results_->data(), sizeof out, stream_);
    cuda::wait(stream_, kGpuHangSeconds, "the first product");
    return out.hash;
  }

  void expect(uint64_t hash) override { golden_ = hash; }

  void start(double seconds) override {
    const int64_t most = std::min<int64_t>(kMostQueued, static_cast<int64_t>(d_.size()));
    count_ = repetitions(product_seconds_, seconds, most);
    first_ = next_;
    const Fault fault = take_fault();
    begin();
    for (int64_t i = 0; i < count_; ++i) {
      const auto set = static_cast<size_t>((first_ + i) % static_cast<int64_t>(d_.size()));
      product(set);
      if (i == count_ / 2 && fault != Fault::none) damage(set, fault);
      hash_of(set);
    }
    end();
    next_ = (first_ + count_) % static_cast<int64_t>(d_.size());
  }

  double finish(double deadline) override {
    wait(deadline);
    product_seconds_ = seconds_ / static_cast<double>(count_);
    std::vector<kernels::HashResult> found(d_.size());
    cuda::copy(found.data(), results_->data(), found.size() * sizeof found[0], stream_);
    cuda::wait(stream_, deadline, "reading hashes");
    for (int64_t i = 0; i < count_; ++i) {
      const auto set = static_cast<size_t>((first_ + i) % static_cast<int64_t>(d_.size()));
      findings_.not_finite += found[set].not_finite;
      ++findings_.passes;
      if (golden_ && found[set].hash != *golden_) note(1, describe(set, deadline));
    }
    return 2.0 * std::pow(static_cast<double>(size_), 3) * static_cast<double>(count_);
  }

 private:
  static constexpr size_t kWorkspace = size_t{32} << 20;

  static size_t element_bits(kernels::Number type) {
    switch (type) {
      case kernels::Number::fp64:
        return 64;
      case kernels::Number::fp32:
      case kernels::Number::tf32:
      case kernels::Number::int32:
        return 32;
      case kernels::Number::fp16:
      case kernels::Number::bf16:
        return 16;
      case kernels::Number::fp4:
        return 4;
      default:
        return 8;
    }
  }
  size_t bytes_of(kernels::Number type) const {
    return static_cast<size_t>(size_) * static_cast<size_t>(size_) * element_bits(type) / 8;
  }

  // Operands once, results many: what fills memory is what is compared.
  void make_buffers(const BurnMaker& maker) {
    a_.emplace(bytes_of(numbers_.a));
    b_.emplace(bytes_of(numbers_.b));
    fill(*a_, numbers_.a, maker.seed);
    fill(*b_, numbers_.b, maker.seed + 1);
    const size_t usable = usable_bytes(maker), each = bytes_of(numbers_.stored);
    if (usable < 2 * each)
      throw Error(
          fmt::format("{}: {} of memory do not hold two results of {} {}: give a smaller "
                      "--size",
                      where_, format_size(static_cast<int64_t>(usable)), phase_, size_));
    for (size_t i = 0; i < usable / each; ++i) d_.emplace_back(each);
    results_.emplace(d_.size() * sizeof(kernels::HashResult));
    cuda::wait(stream_, kGpuHangSeconds, "filling the operands");
  }

  void fill(const cuda::DeviceMemory& memory, kernels::Number type, uint64_t seed) {
    cuda::check_launch(
        kernels::launch_gemm_fill(memory.data(), type,
                                  static_cast<uint64_t>(size_) * static_cast<uint64_t>(size_), seed,
                                  stream_.handle()),
        "gemm_fill");
  }

  void product(size_t set) {
    matmul_.run(algorithm_, a_->data(), b_->data(), d_[set].data(), workspace_.data(), stream_);
  }

  void hash_of(size_t set) {
    const kernels::FloatLayout layout = kernels::float_layout(numbers_.stored);
    cuda::check_launch(
        kernels::launch_hash(d_[set].data(), d_[set].bytes(),
                             static_cast<int>(element_bits(numbers_.stored)), layout.exponent_bits,
                             static_cast<kernels::HashResult*>(results_->data()) + set,
                             stream_.handle()),
        "hash");
  }

  // In the middle of the result, an exponent bit and all its word.
  void damage(size_t set, Fault fault) {
    const uint64_t words = d_[set].bytes() / 8;
    cuda::check_launch(kernels::launch_damage(d_[set].data(), words / 2 + 5, 13,
                                              fault == Fault::nan, stream_.handle()),
                       "damage");
  }

  // The wrong element, by computing the product once more beside the wrong one. If the GPU repeats
  // the error, the two agree: that is said as well.
  std::string describe(size_t set, double deadline) {
    if (!findings_.first.empty()) return "";
    const size_t other = set == 0 ? 1 : 0;
    product(other);
    const cuda::DeviceMemory result(sizeof(kernels::CompareResult));
    auto* at = static_cast<kernels::CompareResult*>(result.data());
    cuda::check_launch(kernels::launch_compare(d_[set].data(), d_[other].data(), d_[set].bytes(),
                                               at, stream_.handle()),
                       "compare");
    kernels::CompareResult found{};
    cuda::copy(&found, at, sizeof found, stream_);
    cuda::wait(stream_, deadline, "comparing results");
    if (found.words == 0)
      return fmt::format(
          "{} {} differs from the golden result and this GPU repeats it: a "
          "permanent fault, or the golden belongs to another library",
          phase_, size_);
    uint64_t wrong = 0, right = 0;
    cuda::copy(&wrong, d_[set].at(8 * found.first), 8, stream_);
    cuda::copy(&right, d_[other].at(8 * found.first), 8, stream_);
    cuda::wait(stream_, deadline, "reading the wrong element");
    const WrongPlace place = locate_wrong(found.first, wrong, right,
                                          static_cast<int>(element_bits(numbers_.stored)), size_);
    return fmt::format("{} {}, result at {}: {} word{} wrong, first {}", phase_, size_,
                       d_[set].data(), found.words, found.words == 1 ? "" : "s", to_text(place));
  }

  int64_t size_;
  GemmNumbers numbers_;
  cublaslt::Matmul matmul_;
  cublaslt::Algorithm algorithm_;
  cuda::DeviceMemory workspace_;
  std::string kind_;
  std::optional<cuda::DeviceMemory> a_, b_, results_;
  std::vector<cuda::DeviceMemory> d_;
  std::optional<uint64_t> golden_;
  double product_seconds_ = 0.01;
  int64_t count_ = 1, first_ = 0, next_ = 0;
};

// ---- Device memory at full bandwidth ----

// Two halves of memory; the pattern goes to and fro by copies and every byte is compared after
// each.
class MemoryBurner final : public Base {
 public:
  explicit MemoryBurner(const BurnMaker& maker)
      : Base(maker),
        bytes_(usable_bytes(maker) / 2 / 16 * 16),
        seed_(maker.seed),
        from_(bytes_),
        to_(bytes_),
        result_(sizeof(kernels::VerifyResult)) {
    cuda::check_launch(kernels::launch_fill(from_.data(), bytes_, seed_, stream_.handle()), "fill");
    cuda::wait(stream_, kGpuHangSeconds, "filling memory");
  }

  void start(double seconds) override {
    count_ =
        repetitions(copy_seconds_, seconds, 100) | 1;  // odd: the last copy ends in the other half
    const Fault fault = take_fault();
    begin();
    for (int64_t i = 0; i < count_; ++i) {
      cuda::check_launch(kernels::launch_copy(to_.data(), from_.data(), bytes_, stream_.handle()),
                         "copy");
      std::swap(from_, to_);
    }
    end();
    if (fault != Fault::none)
      cuda::check_launch(kernels::launch_damage(from_.data(), bytes_ / 16, 13, fault == Fault::nan,
                                                stream_.handle()),
                         "damage");
    cuda::check_launch(kernels::launch_verify(from_.data(), bytes_, seed_,
                                              static_cast<kernels::VerifyResult*>(result_.data()),
                                              stream_.handle()),
                       "verify");
  }

  double finish(double deadline) override {
    wait(deadline);
    copy_seconds_ = seconds_ / static_cast<double>(count_);
    kernels::VerifyResult found{};
    cuda::copy(&found, result_.data(), sizeof found, stream_);
    cuda::wait(stream_, deadline, "verifying memory");
    ++findings_.passes;
    if (found.mismatches > 0) {
      note(found.mismatches, fmt::format("{} bytes of copied memory wrong, the first at {} + {:#x}",
                                         found.mismatches, from_.data(), found.first_mismatch));
      // Mended, so that the next error is a new one.
      cuda::check_launch(kernels::launch_fill(from_.data(), bytes_, seed_, stream_.handle()),
                         "fill");
    }
    return 2.0 * static_cast<double>(bytes_) * static_cast<double>(count_);
  }

 private:
  size_t bytes_;
  uint64_t seed_;
  cuda::DeviceMemory from_, to_, result_;
  double copy_seconds_ = 0.05;
  int64_t count_ = 1;
};

// ---- Every SM by itself ----

class SmBurner final : public Base {
 public:
  explicit SmBurner(const BurnMaker& maker)
      : Base(maker),
        blocks_(static_cast<unsigned>(maker.unit->device.sms) * kBlocksPerSm),
        wanted_(kernels::chain_block_result(kIterations)),
        results_(blocks_ * sizeof(kernels::ChainResult)) {}

  void start(double seconds) override {
    count_ = repetitions(one_seconds_, seconds, kMostQueued);
    const int64_t damaged = take_fault() == Fault::none ? -1 : blocks_ / 2;
    begin();
    for (int64_t i = 0; i < count_; ++i) {
      const bool last = i + 1 == count_;  // its results are those that are read
      cuda::check_launch(
          kernels::launch_chain(static_cast<kernels::ChainResult*>(results_.data()), blocks_,
                                kIterations, last ? damaged : -1, stream_.handle()),
          "chain");
    }
    end();
  }

  double finish(double deadline) override {
    wait(deadline);
    one_seconds_ = seconds_ / static_cast<double>(count_);
    std::vector<kernels::ChainResult> found(blocks_);
    cuda::copy(found.data(), results_.data(), results_.bytes(), stream_);
    cuda::wait(stream_, deadline, "reading the SMs' results");
    ++findings_.passes;
    std::map<uint32_t, int> wrong;  // SM → blocks
    for (const kernels::ChainResult& r : found) {
      if (r.value != wanted_) ++wrong[r.sm];
    }
    for (const auto& [sm, count] : wrong)
      note(static_cast<uint64_t>(count),
           fmt::format("SM {}: {} blocks with a wrong result ({} SMs in all)", sm, count,
                       wrong.size()));
    // Two fused multiply-adds a turn; the integer steps are not counted.
    return 4.0 * kIterations * kernels::chain_threads * blocks_ * static_cast<double>(count_);
  }

 private:
  // As many as are resident at once, so that every SM has its share.
  static constexpr unsigned kBlocksPerSm = 8;
  static constexpr uint32_t kIterations = 20000;

  unsigned blocks_;
  uint64_t wanted_;
  cuda::DeviceMemory results_;
  double one_seconds_ = 0.01;
  int64_t count_ = 1;
};

// ---- Memory march ----

class MarchBurner final : public Base {
 public:
  explicit MarchBurner(const BurnMaker& maker)
      : Base(maker),
        words_(usable_bytes(maker) / 8),
        memory_(words_ * 8),
        result_(sizeof(kernels::MarchResult)) {}

  // One step of one test: written, compared and inverted, compared and written back.
  void start(double) override {
    const auto test = static_cast<kernels::March>(test_);
    auto* at = static_cast<kernels::MarchResult*>(result_.data());
    begin();
    cuda::zero(at, sizeof *at, stream_);
    cuda::poison(&at->first, sizeof at->first, stream_);
    cuda::check_launch(
        kernels::launch_march_write(memory_.data(), words_, test, step_, stream_.handle()),
        "march_write");
    const Fault fault = take_fault();
    if (fault != Fault::none)
      cuda::check_launch(kernels::launch_damage(memory_.data(), words_ / 2, 13, fault == Fault::nan,
                                                stream_.handle()),
                         "damage");
    for (const bool inverted : {false, true})
      cuda::check_launch(kernels::launch_march_turn(memory_.data(), words_, test, step_, inverted,
                                                    at, stream_.handle()),
                         "march_turn");
    end();
  }

  double finish(double deadline) override {
    wait(deadline);
    kernels::MarchResult found{};
    cuda::copy(&found, result_.data(), sizeof found, stream_);
    cuda::wait(stream_, deadline, "reading the march's result");
    ++findings_.passes;
    if (found.wrong > 0)
      note(found.wrong,
           fmt::format("memory test {} step {}: {} words wrong, the first at {} + {:#x}, bits "
                       "{:#018x}",
                       test_, step_, found.wrong, memory_.data(), 8 * found.first, found.bits));
    if (++step_ >= kernels::march_steps(static_cast<kernels::March>(test_))) {
      step_ = 0;
      test_ = (test_ + 1) % kernels::march_tests;
    }
    return 5.0 * 8 * static_cast<double>(words_);  // one write, two times read and write
  }

 private:
  size_t words_;
  cuda::DeviceMemory memory_, result_;
  int test_ = 0;
  uint64_t step_ = 0;
};

}  // namespace

std::unique_ptr<Burner> make_burner(const BurnMaker& maker) {
  if (maker.phase == "hbm") return std::make_unique<MemoryBurner>(maker);
  if (maker.phase == "sm") return std::make_unique<SmBurner>(maker);
  if (maker.phase == "march") return std::make_unique<MarchBurner>(maker);
  return std::make_unique<ProductBurner>(maker);
}

}  // namespace cb
