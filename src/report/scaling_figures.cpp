#include "report/scaling_figures.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/stats.h"
#include "core/units.h"
#include "judge/verdict_select.h"

namespace cb {
namespace {

// The groups of one level.
struct ScaledGroups {
  std::vector<double> efficiencies;  // none: what the others are compared with
  std::string worst;                 // the group with the least
  size_t trained = 0;                // groups, and ranks of all of them
  size_t ranks = 0;
  size_t measured = 1;  // jobs and attempts with efficiencies, of which these are the worst

  double ranks_of_group() const {
    return static_cast<double>(ranks) / static_cast<double>(trained);
  }
  double least() const {
    return efficiencies.empty() ? 1 : *std::ranges::min_element(efficiencies);
  }
  double typical() const { return efficiencies.empty() ? 1 : median(efficiencies); }
};
using ScaledLevels = std::map<double, ScaledGroups>;  // by ranks of a group

ScaledGroups groups_of_record(const Record& record) {
  ScaledGroups out;
  double least = 0;
  for (const Metric& m : record.metrics) {
    if (m.name == "tokens_per_second") ++out.trained;
    if (m.name == "forward_seconds") ++out.ranks;  // each rank has its own
    if (m.name != "scaling_efficiency") continue;
    const double value = m.samples.summary().median;
    if (out.efficiencies.empty() || value < least) {
      least = value;
      out.worst = entity_name(record.entities[m.entity]);
    }
    out.efficiencies.push_back(value);
  }
  return out;
}

ScaledLevels levels_of(const Campaign& campaign, const Step& step, const std::string& kind) {
  ScaledLevels out;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      if (!matches(record.params, {{"scaling", {kind}}})) continue;
      ScaledGroups groups = groups_of_record(record);
      if (groups.trained == 0 || groups.ranks == 0) continue;
      // Of several attempts or jobs the worst is shown; one without efficiencies is none of them.
      const auto [place, is_new] = out.try_emplace(groups.ranks_of_group(), groups);
      if (is_new || groups.efficiencies.empty()) continue;
      ScaledGroups& known = place->second;
      if (!known.efficiencies.empty()) groups.measured = known.measured + 1;
      if (known.efficiencies.empty() || groups.least() < known.least()) known = groups;
      known.measured = groups.measured;
    }
  }
  const auto smallest = out.begin();
  std::erase_if(out, [&](const auto& level) {  // not compared: only the smallest is the measure
    return level.first != smallest->first && level.second.efficiencies.empty();
  });
  return out;
}

std::string share_words(double share) { return format_value(share, "share"); }

std::string level_sentence(double ranks, const ScaledGroups& groups, const Texts& t) {
  // The mean, where groups differ.
  const std::string size = fmt::format("{:.{}f}", ranks, ranks == std::floor(ranks) ? 0 : 1);
  if (groups.efficiencies.empty()) return t("chart.scaling.base", size);
  if (groups.efficiencies.size() == 1)
    return t("chart.scaling.single", size, share_words(groups.least()));
  return t("chart.scaling.several", size, share_words(groups.least()), groups.worst,
           share_words(groups.typical()));
}

Figure scaling_figure(const char* title, const ScaledLevels& levels, const Step& step,
                      const Texts& t) {
  CurveChart chart{.unit = "share", .x_is_bytes = false};
  chart.worst_label = t("chart.scaling.worst");
  chart.typical_label = t("chart.scaling.typical");
  chart.ceiling_label = t("chart.scaling.ideal");
  std::string caption;
  for (const auto& [ranks, groups] : levels) {
    chart.worst.push_back({ranks, groups.least()});
    chart.typical.push_back({ranks, groups.typical()});
    chart.ceiling.push_back({ranks, 1});
    caption += level_sentence(ranks, groups, t) + t.gap();
    if (groups.measured > 1)
      caption += t("chart.scaling.measured", std::to_string(groups.measured)) + t.gap();
  }
  return {std::move(chart), t(title, step.id), caption + t("chart.scaling.axis")};
}

}  // namespace

std::vector<Figure> scaling_figures(const ReportInput& in, const Step& step) {
  std::vector<Figure> out;
  for (const auto& [kind, title] :
       {std::pair{"weak", "chart.scaling.weak"}, std::pair{"strong", "chart.scaling.strong"}}) {
    const ScaledLevels levels = levels_of(in.campaign, step, kind);
    if (levels.size() >= 2) out.push_back(scaling_figure(title, levels, step, in.t));
  }
  return out;
}

}  // namespace cb
