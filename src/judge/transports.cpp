#include "judge/transports.h"

#include <cmath>
#include <map>

#include <fmt/format.h>

#include "core/stats.h"
#include "core/student_t.h"
#include "core/units.h"
#include "judge/measured.h"

namespace cb {
namespace {

// Returns the median over the entities that have this metric in the record.
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

std::string label_part(const CaseInfo& info, const Record& record, const std::string& name) {
  const ParamDef* def = find_param(&info, name);
  if (def == nullptr || !record.params.has(name)) return "";
  if (def->type == ParamType::size) return format_size(record.params.integer(name));
  if (def->type == ParamType::number) return fmt::format("{} {}", name, record.params.number(name));
  if (def->type != ParamType::integer) return record.params.text(name);
  const int64_t count = record.params.integer(name);
  return fmt::format("{} {}", count, count == 1 ? name.substr(0, name.size() - 1) : name);
}

std::string point(const Catalogue& catalogue, const Record& record) {
  const CaseInfo* info = find_case(catalogue, record.case_name);
  std::string out;
  for (const std::string& name :
       info == nullptr ? std::vector<std::string>() : info->label_params) {
    const std::string part = label_part(*info, record, name);
    out += (out.empty() || part.empty() ? "" : " ") + part;
  }
  return out;
}

using TransportJobs = std::vector<std::vector<Record>>;

// One point of a transport: the record of every job that has one.
using PointRecords = std::vector<const Record*>;

std::vector<double> transport_figures(const PointRecords& records, const std::string& metric) {
  std::vector<double> out;
  for (const Record* r : records) {
    if (const auto value = over_pairs(*r, metric)) out.push_back(*value);
  }
  return out;
}

// Returns the point with the best median over the jobs; empty if no job has the metric.
PointRecords best_point(const TransportJobs& jobs, const Catalogue& catalogue, TransportSide side,
                        const std::string& metric, Better better) {
  std::map<std::string, PointRecords> points;
  for (const std::vector<Record>& records : jobs) {
    for (const Record& r : records) {
      const CaseInfo* info = find_case(catalogue, r.case_name);
      if (info != nullptr && info->transport == side && r.measured() && one_way(r) &&
          over_pairs(r, metric))
        points[params_key(r.params)].push_back(&r);
    }
  }
  const PointRecords* best = nullptr;
  double value = 0;
  for (const auto& [key, records] : points) {
    const double mine = median(transport_figures(records, metric));
    if (best == nullptr || (better == Better::higher ? mine > value : mine < value)) {
      best = &records;
      value = mine;
    }
  }
  return best == nullptr ? PointRecords() : *best;
}

void put_figures(const Catalogue& catalogue, const PointRecords& records, const std::string& metric,
                 std::vector<double>& jobs, std::optional<double>& value, std::string& where) {
  jobs = transport_figures(records, metric);
  if (!jobs.empty()) value = median(jobs);
  if (!records.empty()) where = point(catalogue, *records.front());
}

TransportRow row(const Catalogue& catalogue, const std::string& name, const std::string& unit,
                 Better better, const std::string& metric, const PointRecords& rdma,
                 const PointRecords& tcp) {
  TransportRow out{.name = name, .unit = unit, .better = better};
  put_figures(catalogue, rdma, metric, out.rdma_jobs, out.rdma, out.rdma_point);
  put_figures(catalogue, tcp, metric, out.tcp_jobs, out.tcp, out.tcp_point);
  return out;
}

std::vector<double> logarithms(const std::vector<double>& values) {
  std::vector<double> out;
  for (const double v : values) out.push_back(std::log(v));
  return out;
}

// Welch (1947): compares two means whose variances may differ.
double welch_p(const std::vector<double>& a, const std::vector<double>& b) {
  const auto square = [](const std::vector<double>& v) {
    const double s = standard_deviation(v).value_or(0);
    return s * s / static_cast<double>(v.size());
  };
  const double of_a = square(a), of_b = square(b), difference = mean(a) - mean(b);
  if (of_a + of_b == 0) return difference == 0 ? 1 : 0;
  const double df = (of_a + of_b) * (of_a + of_b) /
                    (of_a * of_a / static_cast<double>(a.size() - 1) +
                     of_b * of_b / static_cast<double>(b.size() - 1));
  return student_t_p(difference / std::sqrt(of_a + of_b), df);
}

}  // namespace

std::optional<double> TransportRow::factor() const {
  const auto nothing = [](const std::optional<double>& v) { return v.value_or(0) <= 0; };
  if (nothing(rdma) || nothing(tcp)) return std::nullopt;
  return better == Better::higher ? *rdma / *tcp : *tcp / *rdma;
}

TransportVerdict TransportRow::verdict() const {
  constexpr double kSure = 0.05;
  if (rdma_jobs.size() < 2 || tcp_jobs.size() < 2 || !factor()) return TransportVerdict::one_job;
  return welch_p(logarithms(rdma_jobs), logarithms(tcp_jobs)) < kSure
             ? TransportVerdict::differ
             : TransportVerdict::no_difference;
}

std::vector<TransportRow> compare_transports(const std::vector<std::vector<Record>>& jobs,
                                             const Catalogue& catalogue) {
  const std::string latency = "half_round_trip_seconds", rate = "bytes_per_second";
  std::vector<TransportRow> rows{
      row(catalogue, "half round trip", "seconds", Better::lower, latency,
          best_point(jobs, catalogue, TransportSide::rdma, latency, Better::lower),
          best_point(jobs, catalogue, TransportSide::tcp, latency, Better::lower))};
  const PointRecords rdma = best_point(jobs, catalogue, TransportSide::rdma, rate, Better::higher);
  const PointRecords tcp = best_point(jobs, catalogue, TransportSide::tcp, rate, Better::higher);
  rows.push_back(
      row(catalogue, "bandwidth, one way", "bytes_per_second", Better::higher, rate, rdma, tcp));
  rows.push_back(row(catalogue, "CPU seconds per gigabit, sender", "seconds", Better::lower,
                     "send_cpu_per_gigabit_seconds", rdma, tcp));
  rows.push_back(row(catalogue, "CPU seconds per gigabit, receiver", "seconds", Better::lower,
                     "receive_cpu_per_gigabit_seconds", rdma, tcp));
  std::erase_if(rows, [](const TransportRow& r) { return !r.rdma && !r.tcp; });
  return rows;
}

}  // namespace cb
