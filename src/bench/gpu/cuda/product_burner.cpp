// Matrix products of which every result is hashed on the device and compared with the golden hash.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/gpu/cuda/burner_base.h"
#include "bench/gpu/cuda/gemm_unit.h"
#include "bench/gpu/share_out.h"
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

  uint64_t hash() override {
    cuda::select(ordinal_);
    product(0);
    hash_of(0);
    kernels::HashResult out{};
    cuda::fetch(&out, results_->data(), sizeof out, stream_, kGpuHangSeconds, "the first product");
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
      // In the middle of a result: a bit of a word, or all of it.
      if (i == count_ / 2) damage(d_[set].data(), d_[set].bytes() / 16 + 5, fault);
      hash_of(set);
    }
    end();
    next_ = (first_ + count_) % static_cast<int64_t>(d_.size());
  }

  double finish(double deadline) override {
    wait(deadline);
    product_seconds_ = seconds_ / static_cast<double>(count_);
    std::vector<kernels::HashResult> found(d_.size());
    cuda::fetch(found.data(), results_->data(), found.size() * sizeof found[0], stream_, deadline,
                "reading hashes");
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
      throw cuda::OutOfMemory(
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

  // The wrong element, by computing the product once more beside the wrong one. If the GPU repeats
  // the error, the two agree: that is said as well.
  Said describe(size_t set, double deadline) {
    if (!findings_.first.empty()) return {};
    const size_t other = set == 0 ? 1 : 0;
    product(other);
    const cuda::DeviceMemory result(sizeof(kernels::CompareResult));
    auto* at = static_cast<kernels::CompareResult*>(result.data());
    cuda::check_launch(kernels::launch_compare(d_[set].data(), d_[other].data(), d_[set].bytes(),
                                               at, stream_.handle()),
                       "compare");
    kernels::CompareResult found{};
    cuda::fetch(&found, at, sizeof found, stream_, deadline, "comparing results");
    if (found.words == 0) return said("burn.golden_differs", phase_, size_);
    uint64_t wrong = 0, right = 0;
    const char* what = "reading the wrong element";
    cuda::fetch(&wrong, d_[set].at(8 * found.first), 8, stream_, deadline, what);
    cuda::fetch(&right, d_[other].at(8 * found.first), 8, stream_, deadline, what);
    const WrongPlace place = locate_wrong(found.first, wrong, right,
                                          static_cast<int>(element_bits(numbers_.stored)), size_);
    return said_count("burn.words_wrong", found.words, phase_, size_,
                      fmt::format("{}", d_[set].data()), to_text(place));
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

}  // namespace

std::unique_ptr<Burner> product_burner(const BurnMaker& maker) {
  return std::make_unique<ProductBurner>(maker);
}

}  // namespace cb
