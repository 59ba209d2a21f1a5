#include "report/phase_figures.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "core/stats.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kMostColumns = 120;  // more would be narrower than 4 pixels
constexpr size_t kMostRanks = 16;     // lines; of more ranks the two ends are shown
constexpr double kLongStep = 1.1;     // of the median: a step that takes longer is explained

struct Phase {
  const char* text;
  const char* metric;
  Shade shade;
};
// In their order in a step; docs/methods/training.md says what each one is.
constexpr std::array kPhases{
    Phase{"train_part.forward", "forward_seconds", Shade::dark},
    Phase{"train_part.backward", "backward_seconds", Shade::middle},
    Phase{"train_part.optimizer", "optimizer_seconds", Shade::light},
    Phase{"train_part.exposed", "exposed_communication_seconds", Shade::red},
    Phase{"train_part.bubble", "bubble_share", Shade::yellow}};  // a share of the step
constexpr size_t kComputing = 3;  // the first phases: what a rank does by itself
constexpr size_t kBubble = 4;

using Spent = std::array<double, kPhases.size() + 1>;  // seconds; the last one is all else

double computing_of(const Spent& spent) { return spent[0] + spent[1] + spent[2]; }

struct RankPhases {
  std::array<std::span<const double>, kPhases.size()> series;  // empty: the record has none
  bool usable = true;
};

// Each rank that has its phases of each timed step.
struct PhaseTable {
  std::span<const double> times;                     // of the steps
  std::vector<std::pair<size_t, RankPhases>> ranks;  // by entity
  size_t left_out = 0;                               // ranks

  Spent spent(const RankPhases& rank, size_t at) const;
  // The rank that computes longest in this step.
  Spent slowest(size_t at) const;
  // True if any rank has this phase. All else is what a step has beside its phases.
  bool has(size_t phase) const;
};

// Phases that the record has not are in all else.
Spent PhaseTable::spent(const RankPhases& rank, size_t at) const {
  Spent out{};
  double sum = 0;
  for (size_t i = 0; i < kPhases.size(); ++i) {
    if (rank.series[i].empty()) continue;
    const double scale = i == kBubble ? times[at] : 1;
    out[i] = std::max(rank.series[i][at] * scale, 0.0);
    sum += out[i];
  }
  out.back() = std::max(times[at] - sum, 0.0);
  return out;
}

Spent PhaseTable::slowest(size_t at) const {
  Spent out = spent(ranks.front().second, at);
  for (const auto& [entity, rank] : ranks) {
    const Spent other = spent(rank, at);
    if (computing_of(other) > computing_of(out)) out = other;
  }
  return out;
}

bool PhaseTable::has(size_t phase) const {
  return phase == kPhases.size() || std::ranges::any_of(ranks, [phase](const auto& rank) {
           return !rank.second.series[phase].empty();
         });
}

bool is_complete(const RankPhases& rank) {
  return rank.usable && std::all_of(rank.series.begin(), rank.series.begin() + kComputing,
                                    [](const auto& series) { return !series.empty(); });
}

PhaseTable table_of(const Record& record, std::span<const double> times) {
  std::map<size_t, RankPhases> found;
  for (const Metric& metric : record.metrics) {
    const auto phase = std::ranges::find(kPhases, metric.name, &Phase::metric);
    if (phase == kPhases.end()) continue;
    RankPhases& rank = found[metric.entity];
    const bool fits =
        !metric.samples.has_only_summary() && metric.samples.list().size() == times.size();
    rank.usable = rank.usable && fits;
    if (fits) rank.series[static_cast<size_t>(phase - kPhases.begin())] = metric.samples.list();
  }
  PhaseTable out{.times = times};
  for (const auto& [entity, rank] : found) {
    if (is_complete(rank))
      out.ranks.emplace_back(entity, rank);
    else
      ++out.left_out;
  }
  return out;
}

std::string phase_name(size_t phase, const Texts& t) {
  return t(phase < kPhases.size() ? kPhases[phase].text : "train_part.rest");
}

std::vector<size_t> shown_phases(const PhaseTable& table) {
  std::vector<size_t> out;
  for (size_t i = 0; i <= kPhases.size(); ++i) {
    if (table.has(i)) out.push_back(i);
  }
  return out;
}

std::vector<StackPart> parts_of(const std::vector<size_t>& shown, const Texts& t) {
  std::vector<StackPart> out;
  for (const size_t i : shown)
    out.push_back({phase_name(i, t), i < kPhases.size() ? kPhases[i].shade : Shade::white});
  return out;
}

std::vector<double> values_in(const Spent& spent, const std::vector<size_t>& shown) {
  std::vector<double> out;
  for (const size_t i : shown) out.push_back(spent[i]);
  return out;
}

// The step whose time is the median; of two the shorter one.
size_t median_step(std::span<const double> times) {
  std::vector<size_t> order(times.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [&](size_t i) { return times[i]; });
  return order[(order.size() - 1) / 2];
}

size_t longest_step(std::span<const double> times) {
  return static_cast<size_t>(std::ranges::max_element(times) - times.begin());
}

// The stall behind each timed step that has one, of the rank that waits longest. A checkpoint
// follows each step of the training that --checkpoint-every divides; a record with another number
// of stalls does not say which steps they followed.
std::vector<Point> stalls_of(const Record& record, StepNumbers numbers, size_t steps) {
  if (!record.params.has("checkpoint-every")) return {};
  const int64_t interval = record.params.integer("checkpoint-every");
  if (interval < 1) return {};
  const auto every = static_cast<size_t>(interval);
  const size_t before = numbers.resumed_at / every;
  const size_t number = (numbers.first + steps - 1) / every - before;
  std::vector<double> longest;
  for (const Metric& metric : record.metrics) {
    if (metric.name != "checkpoint_seconds" || metric.samples.has_only_summary()) continue;
    const auto list = metric.samples.list();
    if (list.size() != number) continue;
    longest.resize(number, 0);
    for (size_t i = 0; i < number; ++i) longest[i] = std::max(longest[i], list[i]);
  }
  std::vector<Point> out;
  for (size_t i = 0; i < longest.size(); ++i) {
    const size_t at = (before + i + 1) * every;
    if (at >= numbers.first && longest[i] > 0) out.push_back({static_cast<double>(at), longest[i]});
  }
  return out;
}

// Which phase makes the longest step longer than the median one.
std::string excess_sentence(const PhaseTable& table, const std::vector<Spent>& slowest,
                            const Texts& t) {
  const size_t longest = longest_step(table.times);
  if (table.times[longest] <= kLongStep * median(table.times)) return "";
  size_t phase = 0;
  double most = 0;
  for (size_t i = 0; i <= kPhases.size(); ++i) {
    std::vector<double> values;
    values.reserve(slowest.size());
    for (const Spent& spent : slowest) values.push_back(spent[i]);
    const double more = slowest[longest][i] - median(values);
    if (more > most) {
      most = more;
      phase = i;
    }
  }
  return most > 0 ? t.gap() + t("chart.phases.excess", phase_name(phase, t), format_seconds(most))
                  : "";
}

std::string stall_sentence(const std::vector<Point>& stalls, const Texts& t) {
  if (stalls.empty()) return "";
  const auto [least, most] =
      std::ranges::minmax(stalls, {}, [](const Point& stall) { return stall[1]; });
  return t.gap() + t.count("chart.phases.stall", stalls.size(), format_seconds(least[1]),
                           format_seconds(most[1]));
}

std::string left_out_sentence(const PhaseTable& table, const Texts& t) {
  if (table.left_out == 0) return "";
  return t.gap() + t.count("chart.ranks.left_out", table.left_out);
}

Figure phases_figure(const PhaseTable& table, const Record& record, StepNumbers numbers,
                     const Step& step, const Texts& t) {
  const size_t steps = table.times.size();
  const size_t run = (steps + kMostColumns - 1) / kMostColumns;
  const std::vector<size_t> shown = shown_phases(table);
  std::vector<Spent> slowest;
  for (size_t i = 0; i < steps; ++i) slowest.push_back(table.slowest(i));
  StackChart chart{.unit = "seconds",
                   .parts = parts_of(shown, t),
                   .columns = {},
                   .width = static_cast<double>(run),
                   .x_label = t("chart.loss.steps"),
                   .below = stalls_of(record, numbers, steps),
                   .below_label = t("chart.phases.below")};
  // Of a run of steps the longest is drawn: a mean would hide it.
  for (size_t i = 0; i < steps; i += run) {
    const size_t n = std::min(run, steps - i);
    const size_t longest = i + longest_step(table.times.subspan(i, n));
    chart.columns.push_back(
        {static_cast<double>(numbers.first + i) + (static_cast<double>(run) - 1) / 2,
         values_in(slowest[longest], shown)});
  }
  const size_t longest = longest_step(table.times);
  std::string caption =
      t("chart.phases.caption", steps, numbers.first + longest,
        format_seconds(table.times[longest]), format_seconds(median(table.times)));
  caption += excess_sentence(table, slowest, t);
  if (table.ranks.size() > 1) caption += t.gap() + t("chart.phases.slowest");
  if (run > 1) caption += t.gap() + t("chart.phases.runs", run);
  caption += stall_sentence(chart.below, t) + left_out_sentence(table, t);
  return {std::move(chart), t("chart.phases.title", step.id), std::move(caption)};
}

// By the ranks' own computing, longest first.
std::vector<std::pair<size_t, Spent>> by_computing(const PhaseTable& table, size_t at) {
  std::vector<std::pair<size_t, Spent>> out;
  for (const auto& [entity, rank] : table.ranks) out.emplace_back(entity, table.spent(rank, at));
  std::ranges::stable_sort(out, std::greater(),
                           [](const auto& rank) { return computing_of(rank.second); });
  return out;
}

// The two ends; all in their own order if they are few.
std::vector<std::pair<size_t, Spent>> drawn_ranks(std::vector<std::pair<size_t, Spent>> ranks) {
  if (ranks.size() > kMostRanks) {
    const auto half = static_cast<std::ptrdiff_t>(kMostRanks / 2);
    ranks.erase(ranks.begin() + half, ranks.end() - half);
  } else {
    std::ranges::sort(ranks, {}, &std::pair<size_t, Spent>::first);
  }
  return ranks;
}

Figure ranks_figure(const PhaseTable& table, const Record& record, StepNumbers numbers,
                    const Step& step, const Texts& t) {
  const size_t at = median_step(table.times);
  const auto ranks = by_computing(table, at);
  const auto name = [&](const auto& rank) { return entity_name(record.entities.at(rank.first)); };
  const auto computed = [](const auto& rank) { return format_seconds(computing_of(rank.second)); };
  const std::vector<size_t> shown = shown_phases(table);
  StackRowsChart chart{.unit = "seconds", .parts = parts_of(shown, t), .rows = {}};
  for (const auto& rank : drawn_ranks(ranks))
    chart.rows.push_back({name(rank), values_in(rank.second, shown), computed(rank)});
  std::string caption =
      t("chart.ranks.caption", numbers.first + at, format_seconds(table.times[at]),
        name(ranks.front()), computed(ranks.front()), name(ranks.back()), computed(ranks.back()));
  if (ranks.size() > kMostRanks)
    caption += t.gap() + t("chart.ranks.chosen", kMostRanks / 2, ranks.size());
  if (table.has(kBubble)) caption += t.gap() + t("chart.ranks.stages");
  caption += left_out_sentence(table, t);
  return {std::move(chart), t("chart.ranks.title", step.id), std::move(caption)};
}

}  // namespace

std::vector<Figure> phase_figures(const Record& record, size_t whole, StepNumbers numbers,
                                  const Step& step, const Texts& texts) {
  const Metric* seconds = record.find("step_seconds", whole);
  if (seconds == nullptr || seconds->samples.has_only_summary()) return {};
  const auto times = seconds->samples.list();
  if (times.empty() || !(std::ranges::min(times) > 0)) return {};
  const PhaseTable table = table_of(record, times);
  std::vector<Figure> out;
  if (table.ranks.empty()) return out;
  if (times.size() > 1) out.push_back(phases_figure(table, record, numbers, step, texts));
  if (table.ranks.size() > 1) out.push_back(ranks_figure(table, record, numbers, step, texts));
  return out;
}

}  // namespace cb
