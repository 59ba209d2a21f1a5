#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"

// RDMA beside TCP: what the records of verbs and tcp say of the same hosts.
namespace cb {

// One quantity of both; each the median over the pairs of the best record of its kind.
struct TransportRow {
  std::string name;  // "half round trip"
  std::string unit;
  Better better = Better::higher;
  std::optional<double> rdma, tcp;
  std::string rdma_point = {}, tcp_point = {};  // "write 1M", "8 streams"

  // How many times better RDMA is; nothing unless both were measured.
  std::optional<double> factor() const;
};

// Latency (half a round trip), one-way bandwidth, and busy CPUs per Gb/s at both ends of that
// bandwidth. A quantity that neither has is left out.
std::vector<TransportRow> compare_transports(const std::vector<Record>& records);

}  // namespace cb
