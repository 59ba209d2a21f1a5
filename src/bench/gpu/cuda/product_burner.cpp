// Matrix products. The device hashes every result; the host compares the hash with the golden one.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/gpu/cuda/burner_base.h"
#include "bench/gpu/cuda/gemm_unit.h"
#include "bench/gpu/gpu_plan.h"
#include "bench/gpu/vote.h"
#include "core/units.h"
#include "kernels/hash.h"

namespace cb {
namespace {

class ProductBurner final : public BurnerBase {
 public:
  explicit ProductBurner(const BurnMaker& maker)
      : BurnerBase(maker),
        size_(maker.size),
        numbers_(gemm_numbers(maker.phase)),
        matmul_(*maker.library, maker.phase, maker.size, maker.size, maker.size),
        workspace_(kWorkspace) {
    const auto proposals = matmul_.proposals(1, kWorkspace);
    if (proposals.empty())
      throw cublaslt::Unsupported(fmt::format("{}: cuBLASLt {} multiplies no {} of {}", where_,
                                              maker.library->version(), maker.phase, maker.size));
    algorithm_ = proposals[0];
    kind_ = fmt::format("{} {} SMs, cuBLASLt {}, {} {}, algorithm {:016x}, seed {}",
                        maker.unit->device.name, maker.unit->device.sms, maker.library->version(),
                        maker.phase, maker.size, fmt::join(algorithm_.bytes, ""), maker.seed);
    make_buffers(maker);
  }

  std::string kind() const override { return kind_; }

  // Computes and times the first product. The time includes the loading of the library's kernel,
  // which only makes the first step short.
  uint64_t hash() override {
    cuda::select(ordinal_);
    cuda::Event begun, ended;
    begun.record(stream_);
    product(0);
    ended.record(stream_);
    hash_of(0);
    kernels::HashResult out{};
    cuda::fetch(&out, hashes_->data(), sizeof out, stream_, kGpuHangSeconds, "the first product");
    product_seconds_ = ended.seconds_since(begun);
    return out.hash;
  }

  void expect(uint64_t hash) override { golden_ = hash; }

  // Uses at most half of the results, so that a wrong one is still there when the next step is
  // queued.
  void start(double seconds) override {
    const int64_t most = std::clamp<int64_t>(results_ / 2, 1, kMaxQueued);
    Part part{next_, repetitions(product_seconds_, seconds, most)};
    const Fault fault = take_fault();
    parts_[begin()] = part;
    for (int64_t i = 0; i < part.count; ++i) {
      const int64_t result = (part.first + i) % results_;
      product(result);
      // Damages the middle of a result: one bit of a word, or all of it.
      if (i == part.count / 2) damage(at(result), result_bytes_ / 16 + 5, fault);
      hash_of(result);
    }
    end();
    answer(*hashes_);
    next_ = (part.first + part.count) % results_;
  }

  double finish(double deadline) override {
    const size_t step = wait(deadline);
    const Part part = parts_[step];
    product_seconds_ = seconds_ / static_cast<double>(part.count);
    const auto* found = answer_of<kernels::HashResult>(step);
    for (int64_t i = 0; i < part.count; ++i) {
      const int64_t result = (part.first + i) % results_;
      findings_.not_finite += found[result].not_finite;
      ++findings_.passes;
      if (golden_ && found[result].hash != *golden_) note(1, describe(result, deadline));
    }
    return 2.0 * std::pow(static_cast<double>(size_), 3) * static_cast<double>(part.count);
  }

  std::optional<double> covered_share() const override { return covered_; }

 private:
  static constexpr size_t kWorkspace = size_t{32} << 20;
  // More results tell nothing more about the units, and every step copies their hashes to the host.
  static constexpr size_t kMaxResults = 4096;
  // cuBLASLt expects this alignment of addresses, which cudaMalloc gives.
  static constexpr size_t kAlignment = 256;

  // The results of a step, one behind the other; indices wrap around.
  struct Part {
    int64_t first = 0, count = 1;
  };

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

  // Makes one pair of operands and many results: the memory is filled with what is compared.
  void make_buffers(const BurnMaker& maker) {
    a_.emplace(bytes_of(numbers_.a));
    b_.emplace(bytes_of(numbers_.b));
    fill(*a_, numbers_.a, maker.seed);
    fill(*b_, numbers_.b, maker.seed + 1);
    result_bytes_ = bytes_of(numbers_.stored);
    stride_ = (result_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
    const size_t usable = usable_bytes(maker);
    if (usable < 2 * stride_)
      throw cuda::OutOfMemory(
          fmt::format("{}: {} of memory do not hold two results of {} {}: give a smaller "
                      "--size",
                      where_, format_size(static_cast<int64_t>(usable)), phase_, size_));
    const size_t fitting = usable / stride_, used = std::min(fitting, kMaxResults);
    results_ = static_cast<int64_t>(used);
    if (used < fitting) covered_ = static_cast<double>(used) / static_cast<double>(fitting);
    memory_.emplace(used * stride_);
    hashes_.emplace(used * sizeof(kernels::HashResult));
    prepare_answers(hashes_->bytes());
    cuda::wait(stream_, kGpuHangSeconds, "filling the operands");
  }

  void fill(const cuda::DeviceMemory& memory, kernels::Number type, uint64_t seed) {
    cuda::check_launch(
        kernels::launch_gemm_fill(memory.data(), type,
                                  static_cast<uint64_t>(size_) * static_cast<uint64_t>(size_), seed,
                                  stream_.handle()),
        "gemm_fill");
  }

  std::byte* at(int64_t result) const { return memory_->at(static_cast<size_t>(result) * stride_); }

  void product(int64_t result) {
    matmul_.run(algorithm_, a_->data(), b_->data(), at(result), workspace_.data(), stream_);
  }

  void hash_of(int64_t result) {
    const kernels::FloatLayout layout = kernels::float_layout(numbers_.stored);
    cuda::check_launch(
        kernels::launch_hash(at(result), result_bytes_,
                             static_cast<int>(element_bits(numbers_.stored)), layout.exponent_bits,
                             static_cast<kernels::HashResult*>(hashes_->data()) + result,
                             stream_.handle()),
        "hash");
  }

  // Finds the wrong element: computes the product once more and compares the two. If the GPU
  // repeats the error, they agree, and the text says so.
  Said describe(int64_t result, double deadline) {
    if (!findings_.first.empty()) return {};
    const int64_t other = result == 0 ? 1 : 0;
    product(other);
    auto* compared = static_cast<kernels::CompareResult*>(compared_.data());
    cuda::check_launch(
        kernels::launch_compare(at(result), at(other), result_bytes_, compared, stream_.handle()),
        "compare");
    kernels::CompareResult found{};
    cuda::fetch(&found, compared, sizeof found, stream_, deadline, "comparing results");
    if (found.words == 0) return said("burn.golden_differs", phase_, size_);
    uint64_t wrong = 0, right = 0;
    const char* what = "reading the wrong element";
    cuda::fetch(&wrong, at(result) + 8 * found.first, 8, stream_, deadline, what);
    cuda::fetch(&right, at(other) + 8 * found.first, 8, stream_, deadline, what);
    const WrongPlace place = locate_wrong(found.first, wrong, right,
                                          static_cast<int>(element_bits(numbers_.stored)), size_);
    return said_count("burn.words_wrong", found.words, phase_, size_,
                      fmt::format("{}", static_cast<void*>(at(result))), to_text(place));
  }

  int64_t size_;
  GemmNumbers numbers_;
  cublaslt::Matmul matmul_;
  cublaslt::Algorithm algorithm_;
  cuda::DeviceMemory workspace_;
  std::string kind_;
  std::optional<cuda::DeviceMemory> a_, b_, memory_, hashes_;
  cuda::DeviceMemory compared_{sizeof(kernels::CompareResult)};
  size_t result_bytes_ = 0, stride_ = 0;
  int64_t results_ = 0, next_ = 0;
  std::optional<double> covered_;
  std::optional<uint64_t> golden_;
  double product_seconds_ = kUnknownSeconds;
  std::array<Part, kMaxSteps> parts_;
};

}  // namespace

std::unique_ptr<Burner> product_burner(const BurnMaker& maker) {
  return std::make_unique<ProductBurner>(maker);
}

}  // namespace cb
