// Parts that meet their requirements, or have none, but are far behind their peers.
#include <fmt/format.h>

#include "core/units.h"
#include "judge/outliers.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kMaxOutliers = 40;

}  // namespace

Section outliers_section(const ReportInput& in) {
  const Texts& t = in.t;
  Section out{t("outliers.heading"), {}};
  const std::vector<Outlier> found = find_outliers(in.groups);
  if (found.empty()) return out;
  Table table{.caption = t("outliers.caption"),
              .columns = {{t("col.entity")},
                          {t("col.step")},
                          {t("col.metric")},
                          {t("col.measured"), true},
                          {t("col.median"), true},
                          {t("col.behind"), true},
                          {"z", true}}};
  for (const Outlier& o : found) {
    if (table.rows.size() == kMaxOutliers) break;
    const MeasuredValue& v = o.group->values[o.value];
    table.rows.push_back(
        {State::warn,
         {entity_name(*v.entity), o.group->step->id, metric_name(o.group->metric, t),
          format_value(v.summary.median, o.group->unit),
          format_value(o.group->typical, o.group->unit), fmt::format("{:.1f} %", o.behind * 100),
          fmt::format("{:.0f}", o.z)}});
  }
  out.blocks.emplace_back(std::move(table));
  if (found.size() > kMaxOutliers)
    out.blocks.emplace_back(Paragraph{t("suspects.left_out", found.size() - kMaxOutliers)});
  return out;
}

}  // namespace cb
