#include "judge/side_by_side.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cb {
namespace {

using Groups = std::vector<MetricGroup>;

std::string side_case(const MetricGroup& group) {
  const bool device = group.info != nullptr && !group.info->device.empty();
  return device ? group.case_name + " " + group.info->device : group.case_name;
}

std::string value_of(const MetricGroup& group, const std::string& param) {
  const auto found = group.params.all().find(param);
  if (found == group.params.all().end()) return "";
  return param_text(group.info, param, found->second);
}

std::set<std::string> params_of(const std::vector<const MetricGroup*>& groups) {
  std::set<std::string> out;
  for (const MetricGroup* group : groups) {
    for (const auto& [name, unused] : group->params.all()) out.insert(name);
  }
  return out;
}

// The groups of one case in one campaign.
std::vector<const MetricGroup*> of_case(const Groups& groups, const std::string& name) {
  std::vector<const MetricGroup*> out;
  for (const MetricGroup& group : groups) {
    if (side_case(group) == name) out.push_back(&group);
  }
  return out;
}

// The values that a parameter of a case has within one campaign.
std::set<std::string> values_of(const std::vector<const MetricGroup*>& groups,
                                const std::string& param) {
  std::set<std::string> out;
  for (const MetricGroup* group : groups) out.insert(value_of(*group, param));
  return out;
}

class SideTable {
 public:
  explicit SideTable(const std::vector<Groups>& campaigns) : campaigns_(campaigns) {}

  SideBySide make() {
    for (const Groups& groups : campaigns_) {
      for (const MetricGroup& group : groups) {
        const std::string name = side_case(group);
        if (!telling_.contains(name)) learn(name);
      }
    }
    for (size_t i = 0; i < campaigns_.size(); ++i) {
      std::map<std::string, size_t> seen;  // the n-th of two equal ones meets the n-th elsewhere
      for (const MetricGroup& group : campaigns_[i]) add(group, i, seen);
    }
    return std::move(out_);
  }

 private:
  // Which parameters tell the case's records apart, and which ones the campaigns.
  void learn(const std::string& name) {
    std::set<std::string>& telling = telling_[name];
    std::set<std::string> params;
    std::vector<std::vector<const MetricGroup*>> here;
    for (const Groups& groups : campaigns_) {
      here.push_back(of_case(groups, name));
      params.merge(params_of(here.back()));
    }
    for (const std::string& param : params) {
      SideDifference difference{name, param, {}};
      std::set<std::string> of_campaigns;
      for (const auto& groups : here) {
        const auto values = values_of(groups, param);
        if (values.size() > 1) telling.insert(param);
        if (!values.empty()) of_campaigns.insert(*values.begin());
        difference.values.push_back(values.empty() ? "" : *values.begin());
      }
      if (!telling.contains(param) && of_campaigns.size() > 1)
        out_.differences.push_back(std::move(difference));
    }
  }

  void add(const MetricGroup& group, size_t campaign, std::map<std::string, size_t>& seen) {
    std::vector<std::string> point;
    for (const std::string& param : telling_.at(side_case(group))) {
      if (std::string text = value_of(group, param); !text.empty())
        point.push_back(std::move(text));
    }
    const std::string place = fmt::format("{}", fmt::join(point, ", "));
    const std::string key =
        side_case(group) + '\0' + place + '\0' + group.metric + '\0' + group.entity_kind;
    const std::string nth = std::to_string(seen[key]++);
    row(group, key + '\0' + nth, place).figures[campaign] = figure(group);
  }

  SideRow& row(const MetricGroup& group, const std::string& key, const std::string& place) {
    const auto [at, fresh] = rows_.try_emplace(key, out_.rows.size());
    if (fresh)
      out_.rows.push_back({side_case(group), place, group.metric, group.unit, group.better,
                           std::vector<std::optional<SideFigure>>(campaigns_.size())});
    return out_.rows[at->second];
  }

  static SideFigure figure(const MetricGroup& group) {
    const MeasuredValue& worst = group.values[group.worst];
    SideFigure out{.typical = group.typical,
                   .worst = worst.summary.median,
                   .worst_entity = entity_name(*worst.entity),
                   .entities = group.values.size()};
    const auto& ceiling = worst.metric->ceiling;
    if (ceiling && ceiling->value > 0) out.share_of_ceiling = out.worst / ceiling->value;
    return out;
  }

  const std::vector<Groups>& campaigns_;
  std::map<std::string, std::set<std::string>> telling_;  // by case
  std::map<std::string, size_t> rows_;
  SideBySide out_;
};

}  // namespace

SideBySide side_by_side(const std::vector<std::vector<MetricGroup>>& campaigns) {
  return SideTable(campaigns).make();
}

}  // namespace cb
