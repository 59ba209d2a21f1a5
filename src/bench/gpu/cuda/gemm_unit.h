#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/gpu/cuda/session.h"
#include "bench/gpu/gemm_points.h"
#include "kernels/gemm_data.h"
#include "sys/gpu/cuda/cublaslt.h"
#include "sys/gpu/cuda/graph.h"

namespace cb {

// The types of one product, as the kernels name them.
struct GemmNumbers {
  kernels::Number a, b, stored;
};
GemmNumbers gemm_numbers(const std::string& dtype);

// An algorithm as text, for the other ranks and the record; nothing for text that is none.
std::string text_of(const cublaslt::Algorithm& a);
std::optional<cublaslt::Algorithm> parse_algorithm(const std::string& text);
// GPUs for which the same bytes mean the same algorithm.
std::string kind_of(const GpuUnit& unit, const cublaslt::Library& library);

// Products of a batch. Two batches of them stay below the thousand launches that a stream takes,
// also where the library needs two for a product.
inline constexpr int64_t kMaxProducts = 225;
// Of a batch that is one graph: launched as one.
inline constexpr int64_t kMaxRecorded = 4000;

// One GPU's product: operands in several sets that go round, library objects, stream.
class GemmUnit {
 public:
  // Makes and fills the buffers on the unit's device. Throws OutOfMemory where not one set
  // fits. `sets`:
  // at most so many, 0 for as many as measuring needs.
  GemmUnit(const cublaslt::Library& library, const GpuUnit& unit, const GemmPoint& point,
           uint64_t seed, int64_t sets = 0);

  std::vector<cublaslt::Algorithm> proposals(int most) const;
  // Seconds of each of a few short bursts with this algorithm; empty where the library refuses it.
  std::vector<double> try_out(const cublaslt::Algorithm& algorithm);
  void use(const cublaslt::Algorithm& algorithm) { algorithm_ = algorithm; }
  std::string units() const;  // that the algorithm in use computes with; empty if unknown

  // Queues `count` products between two events; seconds() waits for the oldest that were queued and
  // returns the time of one. Two may be queued at once, so that the GPU never waits for the host.
  void start(int64_t count);
  double seconds();
  int queued() const { return static_cast<int>(begun_ - finished_); }
  // Batches of so many products are launched as one graph from now on: the host cannot launch
  // products of microseconds as fast as the GPU computes them. False where the library allows no
  // graph.
  bool record(int64_t count);

  // Computes one product anew over poisoned memory and compares rows of it with the reference.
  // `spoilt`: an element of these rows is changed before.
  kernels::ProductResult check(bool spoilt);

  int64_t sets() const { return static_cast<int64_t>(d_.size()); }
  int ordinal() const { return ordinal_; }

 private:
  void run_one(int64_t set);
  void run(int64_t count);
  void spoil(uint64_t row);

  int ordinal_;
  GemmPoint point_;
  GemmNumbers numbers_;
  uint64_t seed_;
  cublaslt::Matmul matmul_;
  cublaslt::Algorithm algorithm_;
  cuda::Stream stream_;
  struct Batch {
    cuda::Event begin, end;
    int64_t count = 0;
  };
  static constexpr size_t kMaxBatches = 2;
  std::array<Batch, kMaxBatches> batches_;
  uint64_t begun_ = 0, finished_ = 0;
  cuda::Graph graph_;
  int64_t recorded_ = 0;  // products of the graph; 0: there is none
  std::vector<cuda::DeviceMemory> a_, b_, d_;
  cuda::DeviceMemory workspace_;
  cuda::DeviceMemory verdict_{sizeof(kernels::ProductResult)};
  int64_t next_ = 0;
};

}  // namespace cb
