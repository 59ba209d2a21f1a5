#include "report/load_figures.h"

#include <map>

#include "core/units.h"

namespace cb {
namespace {

// One replica at one rate of arrivals.
struct LoadPoint {
  std::string entity;
  double served = 0;                        // requests per second
  double capacity = 0;                      // the same: at most
  std::optional<Summary> first_token = {};  // nothing: the queue grew without end
};
using LoadPoints = std::map<double, LoadPoint>;  // by offered requests per second

std::optional<LoadPoint> load_of(const Record& record, size_t entity) {
  const Metric* served = record.find("requests_per_second", entity);
  if (served == nullptr) return std::nullopt;
  LoadPoint out{entity_name(record.entities[entity]), served->samples.summary().median};
  const Metric* capacity = record.find("capacity_requests_per_second", entity);
  out.capacity = capacity == nullptr ? out.served : capacity->samples.summary().median;
  const Metric* first = record.find("request_first_token_seconds", entity);
  if (first != nullptr) out.first_token = first->samples.summary();
  return out;
}

// Without a latency a replica is slower than every one that has it.
bool is_slower(const LoadPoint& a, const LoadPoint& b) {
  if (a.first_token && b.first_token) return a.first_token->median > b.first_token->median;
  if (a.first_token || b.first_token) return !a.first_token;
  return a.capacity < b.capacity;
}

std::map<int64_t, LoadPoints> slowest_loads(const Campaign& campaign, const Step& step) {
  std::map<int64_t, LoadPoints> out;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      if (!record.params.has("batch") || !record.params.has("arrival-rate")) continue;
      LoadPoints& points = out[record.params.integer("batch")];
      for (size_t entity = 0; entity < record.entities.size(); ++entity) {
        const auto one = load_of(record, entity);
        if (!one) continue;
        const auto [known, is_new] = points.try_emplace(record.params.number("arrival-rate"), *one);
        if (!is_new && is_slower(*one, known->second)) known->second = *one;
      }
    }
  }
  return out;
}

std::string point_sentence(double rate, const LoadPoint& point, const Texts& t) {
  const std::string offered = format_value(rate, "count per second");
  const std::string served = format_value(point.served, "count per second");
  if (!point.first_token) return t("chart.load.grows", offered, served, point.entity);
  return t("chart.load.at", offered, served, format_seconds(point.first_token->median),
           format_seconds(point.first_token->p99), point.entity);
}

Figure load_figure(int64_t batch, const LoadPoints& points, const Step& step, const Texts& t) {
  TimeLine served{.emphasised = true}, offered{.emphasised = false};
  TimeLine median{.emphasised = true}, p99{.emphasised = false};
  std::string caption;
  for (const auto& [rate, point] : points) {
    served.points.push_back({rate, point.served});
    offered.points.push_back({rate, rate});
    if (point.first_token) {
      median.points.push_back({rate, point.first_token->median});
      p99.points.push_back({rate, point.first_token->p99});
    }
    caption += point_sentence(rate, point, t) + t.gap();
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
  for (const auto& [batch, points] : slowest_loads(in.campaign, step)) {
    if (points.size() >= 2) out.push_back(load_figure(batch, points, step, in.t));
  }
  return out;
}

}  // namespace cb
