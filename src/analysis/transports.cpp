#include "analysis/transports.h"

#include <fmt/format.h>

#include "core/stats.h"
#include "core/units.h"

namespace cb {
namespace {

// The median over the entities of a record's metric.
std::optional<double> over_pairs(const Record& record, const std::string& name) {
  std::vector<double> values;
  for (const Metric& m : record.metrics) {
    if (m.name == name) values.push_back(m.samples.summary().median);
  }
  if (values.empty()) return std::nullopt;
  return median(values);
}

bool one_way(const Record& record) {
  return !record.params.has("direction") || record.params.text("direction") == "one-way";
}

std::string point(const Record& record) {
  const std::string size =
      record.params.has("size") ? format_size(record.params.integer("size")) : "";
  if (record.case_name == "verbs") return record.params.text("op") + " " + size;
  const int64_t streams = record.params.has("streams") ? record.params.integer("streams") : 1;
  return fmt::format("{} stream{}", streams, streams == 1 ? "" : "s");
}

// The record in which the metric is best.
const Record* best(const std::vector<Record>& records, const std::string& case_name,
                   const std::string& metric, Better better) {
  const Record* found = nullptr;
  double value = 0;
  for (const Record& r : records) {
    if (r.case_name != case_name || !r.measured() || !one_way(r)) continue;
    const auto mine = over_pairs(r, metric);
    if (!mine) continue;
    if (found == nullptr || (better == Better::higher ? *mine > value : *mine < value)) {
      found = &r;
      value = *mine;
    }
  }
  return found;
}

TransportRow row(const std::string& name, const std::string& unit, Better better,
                 const std::string& metric, const Record* rdma, const Record* tcp) {
  TransportRow out{.name = name, .unit = unit, .better = better};
  if (rdma != nullptr) {
    out.rdma = over_pairs(*rdma, metric);
    out.rdma_point = point(*rdma);
  }
  if (tcp != nullptr) {
    out.tcp = over_pairs(*tcp, metric);
    out.tcp_point = point(*tcp);
  }
  return out;
}

}  // namespace

std::optional<double> TransportRow::factor() const {
  if (!rdma || !tcp || *rdma <= 0 || *tcp <= 0) return std::nullopt;
  return better == Better::higher ? *rdma / *tcp : *tcp / *rdma;
}

std::vector<TransportRow> compare_transports(const std::vector<Record>& records) {
  const std::string latency = "half_round_trip_seconds", rate = "bytes_per_second";
  std::vector<TransportRow> rows{row("half round trip", "seconds", Better::lower, latency,
                                     best(records, "verbs", latency, Better::lower),
                                     best(records, "tcp", latency, Better::lower))};
  const Record* rdma = best(records, "verbs", rate, Better::higher);
  const Record* tcp = best(records, "tcp", rate, Better::higher);
  rows.push_back(row("bandwidth, one way", "bytes_per_second", Better::higher, rate, rdma, tcp));
  rows.push_back(row("CPU seconds per gigabit, sender", "seconds", Better::lower,
                     "send_cpu_per_gigabit_seconds", rdma, tcp));
  rows.push_back(row("CPU seconds per gigabit, receiver", "seconds", Better::lower,
                     "receive_cpu_per_gigabit_seconds", rdma, tcp));
  std::erase_if(rows, [](const TransportRow& r) { return !r.rdma && !r.tcp; });
  return rows;
}

}  // namespace cb
