#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cb {

// What the maker states about one GPU product. Peaks are dense (no sparsity), per second, named as
// `gemm --dtype` names them. A type that the product lacks, or without a published figure, is
// absent, never zero.
struct GpuSku {
  std::string name;                     // "H200 SXM"
  std::map<std::string, double> peaks;  // dtype → FLOP/s; OP/s for int8
  int sms = 0;                          // streaming multiprocessors; 0: not stated
  // Clock in Hz at which peaks = operations per clock × units; nothing if it is not published.
  std::optional<double> peak_clock_hertz = {};
  // The clock of the fp32 and fp64 peaks, if the maker counted them at another clock.
  std::optional<double> exact_clock_hertz = {};
  double memory_bytes = 0;                             // as sold, in decimal units
  double memory_bytes_per_second = 0;                  // device memory
  std::optional<double> nvlink_bytes_per_second = {};  // one direction, all links together
  int pcie_generation = 0;
  double tdp_watts = 0;
  std::string source;  // source of the row's figures
};

const std::vector<GpuSku>& gpu_skus();

// Returns the product that the driver calls `name` ("NVIDIA H100 80GB HBM3") with this memory. Null
// if the table does not know it: then there is no ceiling, and the caller says so.
const GpuSku* find_gpu_sku(std::string_view name, double memory_bytes);

// Returns the product's peak for a dtype; nothing if either is unknown.
std::optional<double> peak_of(const GpuSku* sku, const std::string& dtype);

// Returns the peak at the measured clock: the stated peak scales with the clock. Nothing if the
// clock of the stated peak is not published.
std::optional<double> peak_at_clock(const GpuSku* sku, const std::string& dtype,
                                    double clock_hertz);

}  // namespace cb
