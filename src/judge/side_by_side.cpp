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

// The value of a parameter; empty if the record does not have it.
std::string value_of(const MetricGroup& group, const std::string& param) {
  const auto found = group.params.all().find(param);
  if (found == group.params.all().end()) return "";
  const std::string text = param_text(group.info, param, found->second);
  return text.starts_with(param + " ") ? text.substr(param.size() + 1) : text;
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

// What a step gives its jobs beside parameters: ranks, hosts, variables of the environment.
std::map<std::string, std::string> circumstances_of(const MetricGroup& group) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : group.step->env) out["env " + name] = value;
  if (const RunInfo* run = group.values.front().run; run != nullptr) {
    out["hosts"] = std::to_string(run->hosts.size());
    out["ranks"] = std::to_string(run->ranks);
  }
  return out;
}

// All that the groups have of each, "8/256" where it is not the same in all.
std::map<std::string, std::string> circumstances_of(const std::vector<const MetricGroup*>& groups) {
  std::map<std::string, std::set<std::string>> all;
  for (const MetricGroup* group : groups) {
    for (auto& [name, value] : circumstances_of(*group)) all[name].insert(value);
  }
  std::map<std::string, std::string> out;
  for (const auto& [name, values] : all) out[name] = fmt::format("{}", fmt::join(values, "/"));
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
        scopes_[name].insert(group.step->scope);
      }
    }
    for (const Groups& groups : campaigns_) find_repeated(groups);
    for (size_t i = 0; i < campaigns_.size(); ++i) {
      for (const MetricGroup& group : campaigns_[i]) row(group).figures[i] = figure(group);
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
      if (!here.back().empty()) params.merge(params_of(here.back()));
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
    add_circumstances(name, here);
  }

  // They tell no records apart: clusters have as many hosts as they have.
  void add_circumstances(const std::string& name,
                         const std::vector<std::vector<const MetricGroup*>>& here) {
    std::map<std::string, std::vector<std::string>> table;
    for (size_t i = 0; i < here.size(); ++i) {
      for (auto& [what, value] : circumstances_of(here[i])) {
        table[what].resize(here.size());
        table[what][i] = value;
      }
    }
    for (const auto& [what, values] : table) {
      std::set<std::string> different;
      for (size_t i = 0; i < here.size(); ++i) {
        if (!here[i].empty()) different.insert(values[i]);
      }
      if (different.size() > 1) out_.differences.push_back({name, what, values});
    }
  }

  // Records of two steps that nothing else tells apart meet those of steps with the same names
  // only.
  void find_repeated(const Groups& groups) {
    std::set<std::string> seen;
    for (const MetricGroup& group : groups) {
      if (!seen.insert(key_of(group)).second) repeated_.insert(key_of(group));
    }
  }

  std::string place_of(const MetricGroup& group) const {
    std::vector<std::string> out;
    if (scopes_.at(side_case(group)).size() > 1)
      out.push_back(std::string("scope ") + scope_name(group.step->scope));
    for (const std::string& param : telling_.at(side_case(group))) {
      if (const std::string value = value_of(group, param); !value.empty())
        out.push_back(fmt::format("{} {}", param, value));
    }
    return fmt::format("{}", fmt::join(out, ", "));
  }

  std::string key_of(const MetricGroup& group) const {
    return side_case(group) + '\0' + place_of(group) + '\0' + group.metric + '\0' +
           group.entity_kind;
  }

  SideRow& row(const MetricGroup& group) {
    std::string key = key_of(group), place = place_of(group);
    if (repeated_.contains(key)) {
      key += '\0' + group.step->id;
      place += (place.empty() ? "step " : ", step ") + group.step->id;
    }
    const auto [at, fresh] = rows_.try_emplace(key, out_.rows.size());
    if (fresh)
      out_.rows.push_back({side_case(group), place, group.metric, group.entity_kind, group.unit,
                           group.better,
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
  std::map<std::string, std::set<Scope>> scopes_;         // by case
  std::set<std::string> repeated_;                        // keys that a campaign has twice
  std::map<std::string, size_t> rows_;
  SideBySide out_;
};

}  // namespace

SideBySide side_by_side(const std::vector<std::vector<MetricGroup>>& campaigns) {
  return SideTable(campaigns).make();
}

}  // namespace cb
