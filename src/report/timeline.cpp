#include "report/timeline.h"

#include <algorithm>
#include <array>
#include <string_view>

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
  std::vector<Recorded> counters;  // those of which it is known when they grew
  bool counters_read = false;
  std::vector<std::string> grown = {};  // the others that grew: "node01: name +2"
};

bool usable(const Series& series) {
  return series.at.size() == series.values.size() && series.at.size() >= 2;
}

// A counter is what the record has before and after it, too.
bool is_counter(const Record& record, const Series& series) {
  return std::ranges::any_of(record.telemetry.deltas, [&](const Delta& d) {
    return d.name == series.name && d.entity == series.entity;
  });
}

bool has_series(const Record& record, const Delta& delta) {
  return std::ranges::any_of(record.telemetry.series, [&](const Series& s) {
    return s.name == delta.name && s.entity == delta.entity && usable(s) &&
           s.values.back() > s.values.front();
  });
}

std::string growth(const Entity& entity, const std::string& name, double by, const Texts& t) {
  return fmt::format("{}: {} +{:g}", entity_name(entity), metric_name(name, t), by);
}

// Others count work: requests, bytes, energy.
bool counts_faults(std::string_view name) {
  return std::ranges::any_of(
      std::array{"_errors", "throttle", "thermal", "temperature_time", "ecc_", "replays"},
      [&](const char* word) { return name.find(word) != name.npos; });
}

void add_deltas(const Record& record, const Texts& t, AllSeries& out) {
  for (const Delta& d : record.telemetry.deltas) {
    if (!counts_faults(d.name)) continue;
    out.counters_read = true;
    if (d.after > d.before && !has_series(record, d))
      out.grown.push_back(growth(record.entities.at(d.entity), d.name, d.after - d.before, t));
  }
}

AllSeries series_of(const Campaign& campaign, const Step& step, const Texts& t) {
  AllSeries out;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      add_deltas(record, t, out);
      for (const Series& series : record.telemetry.series) {
        if (!usable(series)) continue;
        const Recorded one{&series, &record.entities.at(series.entity)};
        if (is_counter(record, series)) {
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
      out.push_back({s.at[i], growth(*one.entity, s.name, s.values[i] - s.values[i - 1], t)});
    }
  }
  std::ranges::stable_sort(out, {}, &TimeEvent::at);
  all = out.size();
  if (out.size() > kMaxEvents) out.resize(kMaxEvents);
  return out;
}

// What the counters did: grew where lines stand, or at some time, or not, or none was read.
std::string about_counters(const AllSeries& series, size_t events, const Texts& t) {
  if (!series.counters_read) return t("chart.timeline.no_counters");
  std::string out = events == 0 ? "" : t.count("chart.timeline.events", events);
  if (!series.grown.empty())
    out += (out.empty() ? "" : t.gap()) +
           t("chart.timeline.grew", name_list(series.grown, kMaxEvents, t));
  return out.empty() ? t("chart.timeline.no_events") : out;
}

}  // namespace

std::optional<Figure> timeline_figure(const ReportInput& in, const Step& step) {
  const Texts& t = in.t;
  const AllSeries series = series_of(in.campaign, step, t);
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
  caption += t.gap() + about_counters(series, events, t);
  return Figure{std::move(chart), t("chart.timeline.title", step.id), std::move(caption)};
}

}  // namespace cb
