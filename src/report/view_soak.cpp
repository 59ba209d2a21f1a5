// The soak: how long it ran, what that proves, everything that happened, and what changed.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "core/clock.h"
#include "core/profile_soak.h"
#include "core/units.h"
#include "judge/soak.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kMaxShownEvents = 500;
constexpr size_t kMaxMarkedEvents = 8;
constexpr size_t kMaxDrifts = 20;
constexpr size_t kMaxUnread = 8;
constexpr double kShownConfidence = 0.95;

// Nothing is lost by less than half of the last digit.
std::string signed_percent(double share) {
  return std::abs(share) < 5e-5 ? "0.00 %" : fmt::format("{:+.2f} %", 100 * share);
}

std::string event_name(const SoakEvent& e, const Texts& t) {
  return t("event." + std::string(e.kind->name));
}

std::string class_name(EventClass c, const Texts& t) {
  return t(std::string("class.") + event_class_name(c));
}

Paragraph summary_of(const ReportInput& in, const SoakTime& time) {
  size_t done = 0, bad = 0;
  for (const SoakCycle& c : time.cycles) {
    done += c.done;
    bad += c.bad;
  }
  const size_t planned = in.campaign.profile.soak ? in.campaign.profile.soak->cycles() : 0;
  return {in.t("soak.summary", time.cycles.size(), planned, format_seconds(time.cluster_seconds),
               done, time.jobs, bad, time.missing)};
}

std::string mean_time_text(uint64_t interruptions, double seconds, const std::string& whose,
                           const Texts& t) {
  const MeanTime mean = mean_time(interruptions, seconds, kShownConfidence);
  if (interruptions == 0)
    return t("soak.none", format_seconds(seconds), whose, format_seconds(mean.lower));
  return t("soak.some", interruptions, format_seconds(seconds), whose,
           format_seconds(*mean.estimate), format_seconds(mean.lower), format_seconds(*mean.upper));
}

Items mean_times(const SoakTime& time, const std::vector<SoakEvent>& events, const Texts& t) {
  const auto n = static_cast<uint64_t>(std::ranges::count(events, true, &SoakEvent::interrupts));
  Items out;
  out.lines.push_back(mean_time_text(n, time.cluster_seconds, t("soak.cluster_time"), t));
  out.lines.push_back(mean_time_text(n, time.host_seconds, t("soak.host_time"), t));
  out.lines.push_back(t("soak.poisson"));
  out.lines.push_back(t("soak.worst_cycle"));
  return out;
}

std::string counts_of_classes(const std::vector<SoakEvent>& events, const Texts& t) {
  std::map<EventClass, size_t> counts;
  for (const SoakEvent& e : events) ++counts[e.cls];
  std::string out;
  for (const auto& [cls, n] : counts)
    out += (out.empty() ? "" : ", ") + t("soak.class_count", class_name(cls, t), n);
  return out;
}

State state_of_class(EventClass c) {
  if (c == EventClass::defect) return State::fail;
  return c == EventClass::degradation ? State::warn : State::not_applicable;
}

// The same event of the same part, however often it came: numbers in its text may differ.
struct EventRow {
  const SoakEvent* first = nullptr;
  const SoakEvent* last = nullptr;
  size_t times = 0;
};

std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit || out.empty() || out.back() != '#') out += digit ? '#' : c;
  }
  return out;
}

// In the order of time of the first of each.
std::vector<EventRow> event_rows(const std::vector<SoakEvent>& events) {
  std::vector<EventRow> out;
  std::map<std::tuple<EventClass, std::string, Entity, std::string_view, std::string>, size_t>
      places;
  for (const SoakEvent& e : events) {
    const auto [place, is_new] = places.try_emplace(
        {e.cls, e.step, e.entity, e.kind->name, without_numbers(e.what.text() + e.cause.text())},
        out.size());
    if (is_new) out.push_back({&e, &e, 0});
    EventRow& row = out[place->second];
    row.last = &e;
    ++row.times;
  }
  return out;
}

std::string first_and_last(const std::string& first, const std::string& last) {
  return first == last ? first : first + " … " + last;
}

Table events_table(const std::vector<EventRow>& rows, const Campaign& campaign, const Texts& t) {
  Table table{.caption = t("soak.events_caption"),
              .columns = {{t("col.class")},
                          {t("col.at")},
                          {t("col.cycle"), true},
                          {t("col.step")},
                          {t("col.entity")},
                          {t("col.event")},
                          {t("col.what")}}};
  const auto cycle_text = [&](size_t cycle) {
    return is_last_reading(campaign.profile, cycle) ? t("soak.last_reading")
                                                    : std::to_string(cycle);
  };
  for (const EventRow& row : rows) {
    if (table.rows.size() == kMaxShownEvents) break;
    const SoakEvent& e = *row.first;
    std::string what = e.what.in(t.lang());
    if (!e.cause.empty()) what += " (" + e.cause.in(t.lang()) + ")";
    const State state = state_of_class(e.cls);
    const std::string times = row.times > 1 ? fmt::format("{} × ", row.times) : "";
    table.rows.push_back({state,
                          {std::string(state_mark(state)) + " " + class_name(e.cls, t),
                           first_and_last(e.at, row.last->at),
                           first_and_last(cycle_text(e.cycle), cycle_text(row.last->cycle)), e.step,
                           entity_name(e.entity), times + event_name(e, t), what}});
  }
  return table;
}

struct Drift {
  const SoakSeries* series = nullptr;
  Decay decay;
};

Table made_up_table(const std::vector<MadeUp>& hosts, const Texts& t) {
  Table table{.caption = t("soak.made_up_caption"),
              .columns = {{t("col.host")},
                          {t("col.soaked"), true},
                          {t("col.made_up"), true},
                          {t("col.made_up_time"), true}}};
  for (const MadeUp& m : hosts)
    table.rows.push_back(
        {{},
         {m.host, std::to_string(m.soaked), std::to_string(m.made_up), format_seconds(m.seconds)}});
  return table;
}

// Until when somebody watched what the loads did.
Paragraph watched_text(const LastReading& last, const Texts& t) {
  if (!last.planned) return {t("soak.no_readers")};
  if (last.open.empty()) return {t("soak.watched", last.at, last.loads_ended)};
  std::vector<std::string> places;
  for (const Job* job : last.open) {
    const std::string place = job->host.empty() ? "cluster" : job->host;
    if (std::ranges::find(places, place) == places.end()) places.push_back(place);
  }
  return {t("soak.unwatched", name_list(places, kMaxUnread, t), last.loads_ended)};
}

// The greatest loss first.
std::vector<Drift> drifts_of(const std::vector<SoakSeries>& all) {
  std::vector<Drift> out;
  for (const SoakSeries& s : all) {
    if (const auto decay = decay_of(s, kShownConfidence)) out.push_back({&s, *decay});
  }
  std::ranges::stable_sort(
      out, [](const Drift& a, const Drift& b) { return a.decay.loss > b.decay.loss; });
  return out;
}

Row drift_row(const Drift& drift, const Texts& t) {
  const SoakSeries& s = *drift.series;
  const Decay& d = drift.decay;
  const auto optional = [](const std::optional<double>& v, const char* format) {
    return v ? fmt::format(fmt::runtime(format), *v) : std::string("–");
  };
  std::string interval = "–";
  if (d.interval)
    interval = signed_percent((*d.interval)[0]) + " … " + signed_percent((*d.interval)[1]);
  return {{},
          {s.step, metric_name(s.metric, t), entity_name(s.entity), std::to_string(s.values.size()),
           format_value(d.median, s.unit), signed_percent(d.loss_per_day), signed_percent(d.loss),
           interval, optional(d.last_to_first, "{:.4f}"), optional(d.variation, "{:.4f}")}};
}

Table drift_table(const std::vector<Drift>& drifts, const Texts& t) {
  Table table{.caption = t("soak.drift_caption"),
              .columns = {{t("col.step")},
                          {t("col.metric")},
                          {t("col.entity")},
                          {t("col.cycles"), true},
                          {t("col.median"), true},
                          {t("col.loss_per_day"), true},
                          {t("col.loss"), true},
                          {t("col.interval"), true},
                          {t("col.last_first"), true},
                          {t("col.variation"), true}}};
  for (size_t i = 0; i < std::min(drifts.size(), kMaxDrifts); ++i)
    table.rows.push_back(drift_row(drifts[i], t));
  return table;
}

Figure cycles_figure(const SoakTime& time, const std::vector<SoakEvent>& events,
                     const std::vector<Drift>& drifts, const Texts& t) {
  TimelineChart chart;
  const auto origin = seconds_since_epoch(time.cycles.front().started).value_or(0);
  const auto since = [&](const std::string& at) {
    return static_cast<double>(seconds_since_epoch(at).value_or(origin) - origin);
  };
  TimePanel jobs{.label = t("soak.chart_jobs"), .unit = "share"};
  jobs.lines.push_back({.points = {}, .emphasised = true});
  for (const SoakCycle& c : time.cycles) {
    const auto all = static_cast<double>(c.done + c.bad);
    jobs.lines[0].points.push_back({since(c.started), static_cast<double>(c.done) / all});
  }
  chart.panels.push_back(std::move(jobs));
  if (!drifts.empty()) {
    const SoakSeries& s = *drifts.front().series;
    TimePanel worst{
        .label = s.step + " · " + metric_name(s.metric, t) + " · " + entity_name(s.entity),
        .unit = s.unit};
    worst.lines.push_back({.points = {}, .emphasised = true});
    for (size_t i = 0; i < s.values.size(); ++i)
      worst.lines[0].points.push_back({s.seconds[i], s.values[i]});
    chart.panels.push_back(std::move(worst));
  }
  for (const SoakEvent& e : events) {
    if (chart.events.size() == kMaxMarkedEvents) break;
    chart.events.push_back({since(e.at), entity_name(e.entity) + ": " + event_name(e, t)});
  }
  return {std::move(chart), t("soak.chart"), t("soak.chart_caption")};
}

}  // namespace

std::string soak_required_text(const SoakRule& rule, const Texts& t) {
  const std::string confidence = fmt::format("{:.4g} %", 100 * rule.confidence);
  switch (rule.kind) {
    case SoakRule::Kind::interruptions:
      return t("soak.required_interruptions", rule.limit);
    case SoakRule::Kind::mtbi:
      return t("soak.required_mtbi", format_seconds(rule.limit), confidence);
    case SoakRule::Kind::decay:
      return t("soak.required_decay", fmt::format("{:.3g} %", 100 * rule.limit), confidence);
    case SoakRule::Kind::events:
      break;
  }
  std::vector<std::string> names;
  for (const std::string& name : rule.of)
    names.push_back(t((find_event_kind(name) != nullptr ? "event." : "class.") + name));
  return t("soak.required_events", rule.limit, name_list(names, 8, t));
}

Section soak_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("soak.heading"), {}};
  const SoakTime time = soak_time(in.campaign);
  if (time.jobs == 0) return out;
  const std::vector<SoakEvent> events = soak_events(in.campaign);
  const std::vector<SoakSeries> series = soak_series(in.campaign);
  const std::vector<Drift> drifts = drifts_of(series);
  out.blocks.emplace_back(summary_of(in, time));
  if (time.cycles.empty()) return out;
  out.blocks.emplace_back(mean_times(time, events, t));
  out.blocks.emplace_back(watched_text(last_reading(in.campaign), t));
  if (const auto made_up = made_up_cycles(in.campaign); !made_up.empty())
    out.blocks.emplace_back(made_up_table(made_up, t));
  out.blocks.emplace_back(Figures{{cycles_figure(time, events, drifts, t)}});
  if (events.empty()) {
    out.blocks.emplace_back(Paragraph{t("soak.no_events")});
  } else {
    out.blocks.emplace_back(Paragraph{t("soak.events", counts_of_classes(events, t))});
    const std::vector<EventRow> rows = event_rows(events);
    out.blocks.emplace_back(events_table(rows, in.campaign, t));
    if (rows.size() > kMaxShownEvents)
      out.blocks.emplace_back(Paragraph{t("soak.events_left_out", rows.size() - kMaxShownEvents)});
  }
  if (drifts.empty()) return out;
  out.blocks.emplace_back(drift_table(drifts, t));
  if (drifts.size() > kMaxDrifts)
    out.blocks.emplace_back(Paragraph{t("soak.drift_left_out", drifts.size() - kMaxDrifts)});
  return out;
}

}  // namespace cb
