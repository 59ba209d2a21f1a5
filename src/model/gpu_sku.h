#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cb {

// What the maker states of one GPU product. Peaks are dense (no sparsity), per second, by the names
// that `gemm --dtype` uses; a type that the product lacks, or of which no figure is published, is
// absent, never zero.
struct GpuSku {
  std::string name;                     // "H200 SXM"
  std::map<std::string, double> peaks;  // dtype → FLOP/s, for int8 OP/s
  int sms = 0;                          // streaming multiprocessors; 0: not stated
  // Clock at which peaks = operations per clock × units; nothing where it is not published.
  std::optional<double> peak_clock_hertz = {};
  // The same for fp32 and fp64 where the maker counted them at another clock.
  std::optional<double> exact_clock_hertz = {};
  double memory_bytes = 0;                             // as sold, decimal
  double memory_bytes_per_second = 0;                  // device memory
  std::optional<double> nvlink_bytes_per_second = {};  // one direction, all links together
  int pcie_generation = 0;
  double tdp_watts = 0;
  std::string source;  // where the row comes from
};

const std::vector<GpuSku>& gpu_skus();

// The product that the driver calls `name` ("NVIDIA H100 80GB HBM3") with that much memory; nothing
// for one that the table does not know: then there is no ceiling, and the caller says so.
const GpuSku* find_gpu_sku(std::string_view name, double memory_bytes);

// Peak of a dtype on that product; nothing if either is unknown.
std::optional<double> peak_of(const GpuSku* sku, const std::string& dtype);

// Peak at the clock that was measured: the stated peak scales with the clock. Nothing where the
// clock of the stated peak is not published.
std::optional<double> peak_at_clock(const GpuSku* sku, const std::string& dtype,
                                    double clock_hertz);

}  // namespace cb
