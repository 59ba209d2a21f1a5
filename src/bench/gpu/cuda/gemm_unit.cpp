#include "bench/gpu/cuda/gemm_unit.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/gpu/cuda/flip.h"
#include "bench/gpu/gpu_plan.h"
#include "core/error.h"
#include "core/units.h"

namespace cb {
namespace {

// PyTorch gives cuBLASLt this much on Hopper; smaller GPUs do not need all of it.
constexpr size_t kWorkspaceBytes = size_t{32} << 20;
constexpr double kTryOutSeconds = 0.01;
constexpr int kTryOuts = 3;

size_t bytes_of(kernels::Number type, int64_t elements) {
  using kernels::Number;
  const auto n = static_cast<size_t>(elements);
  switch (type) {
    case Number::fp64:
      return 8 * n;
    case Number::fp32:
    case Number::tf32:
    case Number::int32:
      return 4 * n;
    case Number::fp16:
    case Number::bf16:
      return 2 * n;
    case Number::fp4:
      return n / 2;
    default:
      return n;
  }
}

int64_t sets_for(const GpuUnit& unit, const GemmPoint& p, const GemmNumbers& types) {
  const auto set =
      static_cast<int64_t>(bytes_of(types.a, p.m * p.k) + bytes_of(types.b, p.n * p.k) +
                           bytes_of(types.stored, p.m * p.n));
  const auto spare = static_cast<int64_t>(8 * kWorkspaceBytes);
  const int64_t free = cuda::memory_info().free_bytes - spare;
  const int64_t sets = rotation_sets(set, unit.device.l2_bytes, free);
  if (sets < 1)
    throw cuda::OutOfMemory(said("gpu.too_large", unit.entity.id, p.m, p.n, p.k, p.dtype,
                                 format_size(set), format_size(std::max<int64_t>(0, free))));
  return sets;
}

// The number of rows of the product that are computed anew: all rows of a small product, 64 of a
// large one, which is one row of every tile that the library may give to one SM. It is less if even
// those are too many multiplications, since some GPUs have few fp64 units.
uint64_t rows_checked(const kernels::ProductCheck& check) {
  constexpr uint64_t kRows = 64, kCheap = uint64_t{1} << 32, kMax = uint64_t{1} << 34;
  const uint64_t row = check.n * check.k;
  const uint64_t wanted = std::max(kRows, kCheap / row);
  return std::clamp<uint64_t>(std::min(wanted, kMax / row), 1, check.m);
}

}  // namespace

GemmNumbers gemm_numbers(const std::string& dtype) {
  using kernels::Number;
  static const std::map<std::string, GemmNumbers> all{
      {"fp64", {Number::fp64, Number::fp64, Number::fp64}},
      {"fp64_vector", {Number::fp64, Number::fp64, Number::fp64}},
      {"fp32", {Number::fp32, Number::fp32, Number::fp32}},
      {"tf32", {Number::tf32, Number::tf32, Number::fp32}},
      {"fp16", {Number::fp16, Number::fp16, Number::fp16}},
      {"bf16", {Number::bf16, Number::bf16, Number::bf16}},
      {"fp8_e4m3", {Number::fp8_e4m3, Number::fp8_e4m3, Number::bf16}},
      {"fp8_e5m2", {Number::fp8_e5m2, Number::fp8_e4m3, Number::bf16}},
      {"int8", {Number::int8, Number::int8, Number::int32}},
      {"fp4", {Number::fp4, Number::fp4, Number::bf16}},
  };
  return all.at(dtype);
}

std::string text_of(const cublaslt::Algorithm& a) {
  return fmt::format("{:016x} {}", fmt::join(a.bytes, ""), a.workspace_bytes);
}

std::optional<cublaslt::Algorithm> parse_algorithm(const std::string& text) {
  cublaslt::Algorithm out;
  if (text.size() < 16 * out.bytes.size() + 2) return std::nullopt;
  for (size_t i = 0; i < out.bytes.size(); ++i)
    out.bytes[i] = std::stoull(text.substr(16 * i, 16), nullptr, 16);
  out.workspace_bytes = std::stoull(text.substr(16 * out.bytes.size() + 1));
  return out;
}

std::string kind_of(const GpuUnit& unit, const cublaslt::Library& library) {
  return fmt::format("{} {} {}", unit.device.name, unit.device.sms, library.version());
}

GemmUnit::GemmUnit(const cublaslt::Library& library, const GpuUnit& unit, const GemmPoint& point,
                   uint64_t seed, int64_t sets)
    : ordinal_(selected(unit)),
      point_(point),
      numbers_(gemm_numbers(point.dtype)),
      seed_(seed),
      matmul_(library, point.dtype, point.m, point.n, point.k),
      workspace_(kWorkspaceBytes) {
  const int64_t most = sets_for(unit, point, numbers_);
  const int64_t count = sets > 0 ? std::min(sets, most) : most;
  const auto fill = [&](cuda::DeviceMemory& memory, kernels::Number type, int64_t elements,
                        uint64_t operand) {
    cuda::check_launch(
        kernels::launch_gemm_fill(memory.data(), type, static_cast<uint64_t>(elements), operand,
                                  stream_.handle()),
        "gemm_fill");
  };
  for (int64_t i = 0; i < count; ++i) {
    a_.emplace_back(bytes_of(numbers_.a, point.m * point.k));
    b_.emplace_back(bytes_of(numbers_.b, point.n * point.k));
    d_.emplace_back(bytes_of(numbers_.stored, point.m * point.n));
    // Every set has the same operands: only their addresses differ.
    fill(a_.back(), numbers_.a, point.m * point.k, seed_);
    fill(b_.back(), numbers_.b, point.n * point.k, seed_ + 1);
  }
  cuda::wait(stream_, kGpuHangSeconds, "filling the operands");
}

std::vector<cublaslt::Algorithm> GemmUnit::proposals(int most) const {
  cuda::select(ordinal_);
  return matmul_.proposals(most, kWorkspaceBytes);
}

void GemmUnit::run_one(int64_t set) {
  const auto i = static_cast<size_t>(set);
  matmul_.run(algorithm_, a_[i].data(), b_[i].data(), d_[i].data(), workspace_.data(), stream_);
}

void GemmUnit::run(int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    run_one(next_);
    next_ = (next_ + 1) % sets();
  }
}

bool GemmUnit::record(int64_t count) {
  cuda::select(ordinal_);
  cuda::Graph::begin(stream_);
  try {
    run(count);
    graph_.end(stream_);
    recorded_ = count;
  } catch (const Error&) {
    cuda::Graph::abandon(stream_);
  }
  return recorded_ == count;
}

void GemmUnit::start(int64_t count) {
  cuda::select(ordinal_);
  Batch& batch = batches_[begun_ % kMaxBatches];
  batch.count = count;
  batch.begin.record(stream_);
  if (count == recorded_)
    graph_.launch(stream_);
  else
    run(count);
  batch.end.record(stream_);
  ++begun_;  // a product that the library refuses does not count
}

double GemmUnit::seconds() {
  cuda::select(ordinal_);
  const Batch& batch = batches_[finished_++ % kMaxBatches];
  batch.end.wait(kGpuHangSeconds, fmt::format("{} products {} {}×{}×{}", batch.count, point_.dtype,
                                              point_.m, point_.n, point_.k));
  return batch.end.seconds_since(batch.begin) / static_cast<double>(batch.count);
}

std::string GemmUnit::units() const { return matmul_.units(algorithm_); }

std::vector<double> GemmUnit::try_out(const cublaslt::Algorithm& algorithm) {
  const cublaslt::Algorithm before = algorithm_;
  algorithm_ = algorithm;
  std::vector<double> out;
  try {
    start(1);
    const int64_t count = repetitions(seconds(), kTryOutSeconds, kMaxProducts);
    for (int i = 0; i < kTryOuts; ++i) {
      start(count);
      out.push_back(seconds());
    }
  } catch (const cublaslt::Unsupported&) {
    out.clear();
  } catch (const Error& e) {
    // The library's algorithm failed. The wait on the stream tells whether the GPU failed too.
    if (e.code() == ExitCode::deadline) throw;
    cuda::forget_error();
    cuda::wait(stream_, kGpuHangSeconds, "what came before a failed algorithm");
    finished_ = begun_;
    out.clear();
  }
  algorithm_ = before;
  return out;
}

// Flips the highest bit of a float's exponent, or bit 30 of an int32, in the first column.
void GemmUnit::spoil(uint64_t row) {
  const size_t element = bytes_of(numbers_.stored, 1);
  flip_on_device(d_[0].at((row + 1) * element - 1), 0x40, stream_);
}

kernels::ProductResult GemmUnit::check(bool spoilt) {
  cuda::select(ordinal_);
  // All ones is NaN in every floating-point type and −1 in int32.
  cuda::poison(d_[0].data(), d_[0].bytes(), stream_);
  run_one(0);
  kernels::ProductCheck check{.a = numbers_.a, .b = numbers_.b, .stored = numbers_.stored};
  check.m = static_cast<uint64_t>(point_.m);
  check.n = static_cast<uint64_t>(point_.n);
  check.k = static_cast<uint64_t>(point_.k);
  check.seed_a = seed_;
  check.seed_b = seed_ + 1;
  check.row_step = std::max<uint64_t>(1, check.m / rows_checked(check));
  check.row_offset = seed_ % check.row_step;
  if (spoilt) spoil(check.row_offset);
  cuda::check_launch(kernels::launch_gemm_check(
                         d_[0].data(), check, static_cast<kernels::ProductResult*>(verdict_.data()),
                         stream_.handle()),
                     "gemm_check");
  kernels::ProductResult out{};
  cuda::fetch(&out, verdict_.data(), sizeof out, stream_, kGpuHangSeconds, "checking the product");
  return out;
}

}  // namespace cb
