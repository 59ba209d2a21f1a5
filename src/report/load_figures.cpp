#include "report/load_figures.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/units.h"

namespace cb {
namespace {

// One replica at one rate of arrivals.
struct ReplicaLoad {
  std::string entity;
  double served = 0;                        // requests per second
  double capacity = 0;                      // the same: at most
  std::optional<Summary> first_token = {};  // nothing: the queue grew without end

  double p99() const { return first_token ? first_token->p99 : 0; }
};
using LoadPoints = std::map<double, std::vector<ReplicaLoad>>;  // by offered requests per second

std::optional<ReplicaLoad> load_of(const Record& record, size_t entity) {
  const Metric* served = record.find("requests_per_second", entity);
  if (served == nullptr) return std::nullopt;
  ReplicaLoad out{entity_name(record.entities[entity]), served->samples.summary().median};
  const Metric* capacity = record.find("capacity_requests_per_second", entity);
  out.capacity = capacity == nullptr ? out.served : capacity->samples.summary().median;
  const Metric* first = record.find("request_first_token_seconds", entity);
  if (first != nullptr) out.first_token = first->samples.summary();
  return out;
}

// Without a latency a replica is slower than every one that has it.
bool is_slower(const ReplicaLoad& a, const ReplicaLoad& b) {
  if (a.first_token && b.first_token) return a.first_token->median > b.first_token->median;
  if (a.first_token || b.first_token) return !a.first_token;
  return a.capacity < b.capacity;
}

const ReplicaLoad& slowest_of(const std::vector<ReplicaLoad>& replicas) {
  return *std::ranges::min_element(replicas, is_slower);
}

// Another one may have the longest tail.
const ReplicaLoad& longest_tail_of(const std::vector<ReplicaLoad>& replicas) {
  return *std::ranges::max_element(replicas, {}, &ReplicaLoad::p99);
}

std::map<int64_t, LoadPoints> loads_by_batch(const Campaign& campaign, const Step& step) {
  std::map<int64_t, LoadPoints> out;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      if (!record.params.has("batch") || !record.params.has("arrival-rate")) continue;
      LoadPoints& points = out[record.params.integer("batch")];
      for (size_t entity = 0; entity < record.entities.size(); ++entity) {
        if (auto one = load_of(record, entity))
          points[record.params.number("arrival-rate")].push_back(std::move(*one));
      }
    }
  }
  return out;
}

std::string point_sentence(double rate, const ReplicaLoad& slowest, const ReplicaLoad& tail,
                           const Texts& t) {
  const std::string offered = format_value(rate, "count per second");
  const std::string served = format_value(slowest.served, "count per second");
  if (!slowest.first_token) return t("chart.load.grows", offered, served, slowest.entity);
  const std::string median = format_seconds(slowest.first_token->median);
  const std::string p99 = format_seconds(tail.p99());
  if (tail.p99() == slowest.p99())
    return t("chart.load.at", offered, served, median, p99, slowest.entity);
  return t("chart.load.tail", offered, served, median, slowest.entity, p99, tail.entity);
}

Figure load_figure(int64_t batch, const LoadPoints& points, const Step& step, const Texts& t) {
  TimeLine served{.emphasised = true}, offered{.emphasised = false};
  TimeLine median{.emphasised = true}, p99{.emphasised = false};
  std::string caption;
  for (const auto& [rate, replicas] : points) {
    const ReplicaLoad& slowest = slowest_of(replicas);
    const ReplicaLoad& tail = longest_tail_of(replicas);
    served.points.push_back({rate, slowest.served});
    offered.points.push_back({rate, rate});
    if (slowest.first_token) {
      median.points.push_back({rate, slowest.first_token->median});
      p99.points.push_back({rate, tail.p99()});
    }
    caption += point_sentence(rate, slowest, tail, t) + t.gap();
  }
  TimelineChart chart{.x_label = t("chart.load.offered")};
  chart.panels.push_back({t("chart.load.served"), "count per second", {served, offered}});
  if (!median.points.empty())
    chart.panels.push_back({t("chart.load.first"), "seconds", {median, p99}});
  return {std::move(chart), t("chart.load.title", step.id, batch), caption + t("chart.load.grey")};
}

}  // namespace

std::vector<Figure> load_figures(const ReportInput& in, const Step& step) {
  std::vector<Figure> out;
  for (const auto& [batch, points] : loads_by_batch(in.campaign, step)) {
    if (points.size() >= 2) out.push_back(load_figure(batch, points, step, in.t));
  }
  return out;
}

}  // namespace cb
