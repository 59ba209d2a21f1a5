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

// An algorithm as text, for the other ranks and the record. parse_algorithm() returns nothing for
// text that is no algorithm.
std::string text_of(const cublaslt::Algorithm& a);
std::optional<cublaslt::Algorithm> parse_algorithm(const std::string& text);
// The same bytes mean the same algorithm for all GPUs of one kind.
std::string kind_of(const GpuUnit& unit, const cublaslt::Library& library);

// The most products of a batch. Two batches stay below the thousand launches that a stream takes,
// even if the library needs two launches for a product.
inline constexpr int64_t kMaxProducts = 225;
// The most products of a batch that is launched as one graph.
inline constexpr int64_t kMaxRecorded = 4000;

// One GPU's product: operands in several sets used in rotation, library objects, stream.
class GemmUnit {
 public:
  // Makes and fills the buffers on the unit's device. `sets` limits their number; 0: as many sets
  // as measuring needs. Throws OutOfMemory if not even one set fits.
  GemmUnit(const cublaslt::Library& library, const GpuUnit& unit, const GemmPoint& point,
           uint64_t seed, int64_t sets = 0);

  std::vector<cublaslt::Algorithm> proposals(int most) const;
  // Seconds of each of a few short bursts with this algorithm; empty if the library refuses it.
  std::vector<double> try_out(const cublaslt::Algorithm& algorithm);
  void use(const cublaslt::Algorithm& algorithm) { algorithm_ = algorithm; }
  std::string units() const;  // units that compute the algorithm in use; empty if unknown

  // start() queues `count` products between two events. seconds() waits for the oldest queued batch
  // and returns the time of one product. Two batches may be queued at once, so that the GPU never
  // waits for the host.
  void start(int64_t count);
  double seconds();
  int queued() const { return static_cast<int>(begun_ - finished_); }
  // From now on, batches of `count` products are launched as one graph: the host cannot launch
  // products of microseconds as fast as the GPU computes them. False if the library allows no
  // graph.
  bool record(int64_t count);

  // Computes one product anew over poisoned memory and compares rows of it with the reference. If
  // `spoilt`, one element of these rows is changed first.
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
  int64_t recorded_ = 0;  // products of the graph; 0: there is no graph
  std::vector<cuda::DeviceMemory> a_, b_, d_;
  cuda::DeviceMemory workspace_;
  cuda::DeviceMemory verdict_{sizeof(kernels::ProductResult)};
  int64_t next_ = 0;
};

}  // namespace cb
