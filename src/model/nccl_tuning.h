#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// NCCL's choices, read from the lines that it writes with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=TUNING.
// Pure.
namespace cb {

// One call as NCCL ran it.
struct TuningChoice {
  std::string function;                // "AllReduce"; empty if this version of NCCL does not say
  uint64_t bytes = 0;                  // size as NCCL counts it
  std::string algorithm;               // ring, tree, nvls, …; or a symmetric kernel's name
  std::string protocol;                // ll, ll128, simple; empty for symmetric kernels
  std::optional<int> channels = {};    // nothing if this version of NCCL does not say
  std::optional<double> seconds = {};  // NCCL's own estimate; nothing if it does not say
};

// Parses one line of the log; nothing if it is not about a choice. Three formats are known:
//   AllReduce: 1048576 Bytes -> Algo RING proto LL128 channel{Lo..Hi}={0..7}     2.23 and newer
//   AllReduce: 1048576 Bytes -> Algo 1 proto 2 time 28.6      2.8 to 2.22, with or without function
//   AllReduce [Symmetric]: 1048576 Bytes -> Kernel NAME nchannels 8 nthreads 512 nWorks 1     2.28
std::optional<TuningChoice> parse_tuning_line(std::string_view line);

// Returns the different choices of a log, in the order in which they first occur.
std::vector<TuningChoice> parse_tuning_log(std::string_view log);

// "ring ll128, 8 channels"
std::string to_text(const TuningChoice& choice);

}  // namespace cb
