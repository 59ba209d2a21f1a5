#include "report/timeline.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kMaxLines = 16;    // lines beside the worst one
constexpr size_t kMaxPoints = 240;  // points per line; more would not be visible
constexpr size_t kMaxEvents = 8;

struct Recorded {
  const Series* series = nullptr;
  const Entity* entity = nullptr;
};

struct AllSeries {
  std::vector<std::pair<std::string, std::vector<Recorded>>> by_name;  // in order of appearance
  std::vector<Recorded> counters;
};

bool usable(const Series& series) {
  return series.at.size() == series.values.size() && series.at.size() >= 2;
}

AllSeries series_of(const Campaign& campaign, const Step& step) {
  AllSeries out;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      for (const Series& series : record.telemetry.series) {
        if (!usable(series)) continue;
        const Recorded one{&series, &record.entities.at(series.entity)};
        if (series.unit == "count") {
          out.counters.push_back(one);
          continue;
        }
        auto found = std::ranges::find(out.by_name, series.name,
                                       &std::pair<std::string, std::vector<Recorded>>::first);
        if (found == out.by_name.end())
          found = out.by_name.insert(out.by_name.end(), {series.name, {}});
        found->second.push_back(one);
      }
    }
  }
  return out;
}

// High is bad for temperatures and latencies; low is bad for everything else.
bool high_is_bad(const Series& series) {
  return series.unit == "celsius" || series.unit == "seconds";
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

// The first steps upwards of the counters. `all` gets the number of all of them.
std::vector<TimeEvent> events_of(const std::vector<Recorded>& counters, const Texts& t,
                                 size_t& all) {
  std::vector<TimeEvent> out;
  for (const Recorded& one : counters) {
    const Series& s = *one.series;
    for (size_t i = 1; i < s.values.size(); ++i) {
      if (!(s.values[i] > s.values[i - 1])) continue;
      out.push_back({s.at[i], fmt::format("{}: {} +{:g}", entity_name(*one.entity),
                                          metric_name(s.name, t), s.values[i] - s.values[i - 1])});
    }
  }
  std::ranges::stable_sort(out, {}, &TimeEvent::at);
  all = out.size();
  if (out.size() > kMaxEvents) out.resize(kMaxEvents);
  return out;
}

}  // namespace

std::optional<Figure> timeline_figure(const ReportInput& in, const Step& step) {
  const Texts& t = in.t;
  const AllSeries series = series_of(in.campaign, step);
  if (series.by_name.empty()) return std::nullopt;
  TimelineChart chart;
  std::vector<std::string> names;
  for (const auto& [name, list] : series.by_name) {
    names.push_back(metric_name(name, t));
    if (chart.panels.size() < 2) chart.panels.push_back(panel_of(name, list, t));
  }
  size_t events = 0;
  chart.events = events_of(series.counters, t, events);
  std::string caption = t.count("chart.timeline.caption", series.by_name.front().second.size(),
                                name_list(names, 6, t));
  caption += t.gap() + (events == 0 ? t("chart.timeline.no_events")
                                    : t.count("chart.timeline.events", events));
  return Figure{std::move(chart), t("chart.timeline.title", step.id), std::move(caption)};
}

}  // namespace cb
