#include "report/timeline.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/units.h"
#include "report/fault_counters.h"

namespace cb {
namespace {

constexpr size_t kMaxLines = 16;    // lines beside the worst one
constexpr size_t kMaxPoints = 240;  // points per line; more would not be visible
constexpr size_t kMaxEvents = 60;   // lines of events
constexpr size_t kMaxNames = 8;

struct Recorded {
  const Series* series = nullptr;
  const Entity* entity = nullptr;
};

// Series of each name, in order of appearance.
using ByName = std::vector<std::pair<std::string, std::vector<Recorded>>>;

bool usable(const Series& series) {
  return series.at.size() == series.values.size() && series.at.size() >= 2;
}

// A counter is what the record has before and after it, too: it is no line.
std::set<std::pair<std::string_view, size_t>> counters_of(const Record& record) {
  std::set<std::pair<std::string_view, size_t>> out;
  for (const Delta& d : record.telemetry.deltas) out.insert({d.name, d.entity});
  return out;
}

ByName series_of(const Campaign& campaign, const Step& step) {
  ByName out;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      const auto counters = counters_of(record);
      for (const Series& series : record.telemetry.series) {
        if (!usable(series) || counters.contains({series.name, series.entity})) continue;
        auto found = std::ranges::find(out, series.name, &ByName::value_type::first);
        if (found == out.end()) found = out.insert(out.end(), {series.name, {}});
        found->second.push_back({&series, &record.entities.at(series.entity)});
      }
    }
  }
  return out;
}

// High is bad for temperatures, latencies and load; low is bad for everything else.
bool high_is_bad(const Series& series) {
  return series.unit == "celsius" || series.unit == "seconds" || series.name == "load_1min";
}

const Recorded& worst_of(const std::vector<Recorded>& list) {
  const auto key = [](const Recorded& r) {
    return high_is_bad(*r.series) ? -std::ranges::max(r.series->values) : mean(r.series->values);
  };
  return *std::ranges::min_element(list, {}, key);
}

// Replaces each run of n points by its mean, so that a long line keeps its shape.
TimeLine thinned(const Series& series, bool emphasised) {
  TimeLine out{.emphasised = emphasised};
  const size_t run = (series.at.size() + kMaxPoints - 1) / kMaxPoints;
  for (size_t i = 0; i < series.at.size(); i += run) {
    const size_t n = std::min(run, series.at.size() - i);
    out.points.push_back({mean({series.at.data() + i, n}), mean({series.values.data() + i, n})});
  }
  return out;
}

TimePanel panel_of(const std::string& name, const std::vector<Recorded>& list, const Texts& t) {
  const Recorded& worst = worst_of(list);
  const auto [low, high] = std::ranges::minmax(worst.series->values);
  TimePanel out{
      .label = t("chart.timeline.panel", metric_name(name, t), entity_name(*worst.entity),
                 format_value(low, worst.series->unit), format_value(high, worst.series->unit)),
      .unit = worst.series->unit};
  for (const Recorded& one : list) {
    if (one.series != worst.series && out.lines.size() < kMaxLines)
      out.lines.push_back(thinned(*one.series, false));
  }
  out.lines.push_back(thinned(*worst.series, true));
  return out;
}

// "node01:0 and 7 more: corrected ECC errors +2"
std::string growth_text(const FaultGrowth& growth, const Texts& t) {
  std::vector<std::string> entities;
  for (const auto& [entity, by] : growth.grew) entities.push_back(entity);
  return fmt::format("{}: {} +{:g}", name_list(entities, 1, t), metric_name(growth.counter, t),
                     growth.grew.front().second);
}

std::string growth_list(const std::vector<FaultGrowth>& list, const Texts& t) {
  std::vector<std::string> names;
  for (const FaultGrowth& growth : list) names.push_back(growth_text(growth, t));
  return name_list(names, kMaxNames, t);
}

std::vector<TimeEvent> events_of(const FaultCounters& counters, const Texts& t) {
  std::vector<TimeEvent> out;
  for (const FaultGrowth& growth : counters.timed) {
    if (out.size() < kMaxEvents) out.push_back({growth.at, growth_text(growth, t)});
  }
  return out;
}

// What grew, at lines or at some time, or nothing; and on how many hosts a counter was read at all.
std::string about_counters(const FaultCounters& c, const Texts& t) {
  if (c.read_on.empty()) return t("chart.timeline.no_counters");
  std::vector<std::string> said;
  if (!c.timed.empty())
    said.push_back(t.count("chart.timeline.events", c.timed.size(), growth_list(c.timed, t)));
  if (c.timed.size() > kMaxEvents) said.push_back(t("chart.timeline.first_events", kMaxEvents));
  if (!c.untimed.empty()) said.push_back(t("chart.timeline.grew", growth_list(c.untimed, t)));
  if (said.empty()) said.push_back(t("chart.timeline.no_events"));
  if (c.read_on.size() < c.hosts.size())
    said.push_back(t("chart.timeline.read_on", c.read_on.size(), c.hosts.size()));
  return fmt::format("{}", fmt::join(said, t.gap()));
}

}  // namespace

std::optional<Figure> timeline_figure(const ReportInput& in, const Step& step) {
  const Texts& t = in.t;
  const ByName series = series_of(in.campaign, step);
  if (series.empty()) return std::nullopt;
  TimelineChart chart;
  std::vector<std::string> names;
  for (const auto& [name, list] : series) {
    names.push_back(metric_name(name, t));
    if (chart.panels.size() < 2) chart.panels.push_back(panel_of(name, list, t));
  }
  const FaultCounters counters = fault_counters(in.campaign, step);
  chart.events = events_of(counters, t);
  const std::string caption =
      t.count("chart.timeline.caption", series.front().second.size(), name_list(names, 6, t));
  return Figure{std::move(chart), t("chart.timeline.title", step.id),
                caption + t.gap() + about_counters(counters, t)};
}

}  // namespace cb
