#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

// RDMA beside TCP: what the records of verbs and tcp say of the same hosts.
namespace cb {

// Whether a difference is more than what jobs of one kind differ by.
enum class TransportVerdict {
  one_job,        // of one of them there is only one job: its spread to another one is not known
  no_difference,  // Welch's t of the jobs' logarithms does not tell them apart at p < 0.05
  differ
};

// One quantity of both: of each the median over its jobs, at the point where that is best; a job's
// figure is the median over its pairs.
struct TransportRow {
  std::string name;  // "half round trip"
  std::string unit;
  Better better = Better::higher;
  std::optional<double> rdma, tcp;
  std::string rdma_point = {}, tcp_point = {};  // "write 1M", "8 streams"
  std::vector<double> rdma_jobs = {}, tcp_jobs = {};

  // How many times better RDMA is; below 1 it is worse. Nothing unless both were measured.
  std::optional<double> factor() const;
  TransportVerdict verdict() const;
};

// Latency (half a round trip), one-way bandwidth, and busy CPUs per Gb/s at both ends of that
// bandwidth. A quantity that neither has is left out. The records of one job (document) each.
std::vector<TransportRow> compare_transports(const std::vector<std::vector<Record>>& jobs);

}  // namespace cb
