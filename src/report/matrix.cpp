#include "report/matrix.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/units.h"

namespace cb {
namespace {

constexpr size_t kMaxCells = 64;      // more rows than this share cells
constexpr double kFarOut = 5;         // robust standard deviations behind the median
constexpr double kMinSpread = 0.005;  // share of the median: a healthy fabric has hardly any spread
constexpr size_t kNamed = 3;

// Distinct names, sorted, divided into at most 64 groups: one cell each.
class Axis {
 public:
  void add(const std::string& name) { index_.try_emplace(name, index_.size()); }
  void sort() {
    size_t next = 0;
    for (auto& [name, at] : index_) at = next++;
    per_cell_ = (index_.size() + kMaxCells - 1) / kMaxCells;
  }
  size_t cell(const std::string& name) const { return index_.at(name) / per_cell_; }
  std::vector<std::string> labels() const {
    std::vector<std::string> out;
    for (const auto& [name, at] : index_) {
      if (at % per_cell_ == 0) out.push_back(name);
    }
    return out;
  }

 private:
  std::map<std::string, size_t> index_;
  size_t per_cell_ = 1;
};

std::string sender(const Entity& e) { return e.id.empty() ? e.host : e.host + ":" + e.id; }
std::string receiver(const Entity& e) { return e.peer.value_or(""); }

// The bound beyond which a value is so far behind the median that chance does not explain it.
double bound_of(const MetricGroup& group) {
  std::vector<double> medians;
  for (const MeasuredValue& v : group.values) medians.push_back(v.summary.median);
  const double spread =
      std::max(1.4826 * median_absolute_deviation(medians), kMinSpread * std::abs(group.typical));
  return group.better == Better::higher ? group.typical - kFarOut * spread
                                        : group.typical + kFarOut * spread;
}

}  // namespace

Figure matrix_figure(const ReportInput& in, const MetricGroup& group, const std::string& title) {
  const Texts& t = in.t;
  const bool higher = group.better == Better::higher;
  Axis rows, columns;
  for (const MeasuredValue& v : group.values) {
    rows.add(sender(*v.entity));
    columns.add(receiver(*v.entity));
  }
  rows.sort();
  columns.sort();
  const double bound = bound_of(group);
  std::map<std::pair<size_t, size_t>, MatrixCell> cells;
  std::vector<const MeasuredValue*> bad;
  for (const MeasuredValue& v : group.values) {
    const double value = v.summary.median;
    const bool far = higher ? value < bound : value > bound;
    if (far) bad.push_back(&v);
    const std::pair place{rows.cell(sender(*v.entity)), columns.cell(receiver(*v.entity))};
    MatrixCell cell{place.first, place.second, value, far,
                    far ? entity_name(*v.entity) + ": " + format_value(value, group.unit) : ""};
    const auto [found, is_new] = cells.try_emplace(place, cell);
    if (!is_new && (higher ? value < found->second.value : value > found->second.value))
      found->second = cell;
  }
  std::ranges::stable_sort(bad, [&](const MeasuredValue* a, const MeasuredValue* b) {
    return higher ? a->summary.median < b->summary.median : a->summary.median > b->summary.median;
  });
  std::vector<std::string> names;
  for (const MeasuredValue* v : bad)
    names.push_back(entity_name(*v->entity) + " " + format_value(v->summary.median, group.unit));
  MatrixChart chart{.rows = rows.labels(), .columns = columns.labels()};
  for (auto& [place, cell] : cells) chart.cells.push_back(std::move(cell));
  const MeasuredValue& worst = group.values[group.worst];
  const MeasuredValue& best = group.values[group.best];
  chart.worst = worst.summary.median;
  chart.best = best.summary.median;
  chart.low_label = t("chart.worst_is", format_value(chart.worst, group.unit));
  chart.high_label = t("chart.best_is", format_value(chart.best, group.unit));
  std::string caption = t("chart.matrix.caption", group.values.size(), metric_name(group.metric, t),
                          format_value(group.typical, group.unit), entity_name(*worst.entity),
                          format_value(chart.worst, group.unit));
  caption +=
      t.gap() + (bad.empty() ? t("chart.matrix.none")
                             : t("chart.matrix.bad", bad.size(), name_list(names, kNamed, t)));
  return {std::move(chart), title, std::move(caption)};
}

}  // namespace cb
