#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/catalogue.h"
#include "core/result.h"

// Compares RDMA with TCP: what the records of cases of both say about the same hosts.
namespace cb {

// Whether the difference is larger than the spread between jobs of one kind.
enum class TransportVerdict {
  one_job,        // one side has a single job: its spread between jobs is not known
  no_difference,  // Welch's t of the jobs' logarithms does not tell them apart at p < 0.05
  differ
};

// One quantity for both transports: the median over the jobs of each, at its best point. A job's
// figure is the median over its pairs.
struct TransportRow {
  std::string name;  // "half round trip"
  std::string unit;
  Better better = Better::higher;
  std::optional<double> rdma, tcp;
  std::string rdma_point = {}, tcp_point = {};  // "write 1M", "8 streams"
  std::vector<double> rdma_jobs = {}, tcp_jobs = {};

  // Returns how many times better RDMA is; below 1 it is worse. Nothing unless both were measured.
  std::optional<double> factor() const;
  TransportVerdict verdict() const;
};

// Compares latency (half a round trip), one-way bandwidth, and the CPU time per gigabit at both
// ends of that bandwidth. Leaves out a quantity that neither transport has. Each element of `jobs`
// has the records of one job (document); the catalogue says which cases are which transport.
std::vector<TransportRow> compare_transports(const std::vector<std::vector<Record>>& jobs,
                                             const Catalogue& catalogue);

}  // namespace cb
