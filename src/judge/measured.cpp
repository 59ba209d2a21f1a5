#include "judge/measured.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "core/profile_drills.h"
#include "core/units.h"

namespace cb {
namespace {

const CaseInfo* info_of(const Record& record, const Catalogue& catalogue) {
  const bool has_device = record.params.has("device") &&
                          std::holds_alternative<std::string>(record.params.all().at("device")[0]);
  return find_case(catalogue, record.case_name,
                   has_device ? record.params.text("device") : std::string());
}

void place_ends(MetricGroup& group) {
  std::vector<double> medians;
  for (size_t i = 0; i < group.values.size(); ++i) {
    const double value = group.values[i].summary.median;
    medians.push_back(value);
    const bool below = value < group.values[group.worst].summary.median;
    const bool above = value > group.values[group.worst].summary.median;
    if (group.better == Better::higher ? below : above) group.worst = i;
    const bool lower = value < group.values[group.best].summary.median;
    const bool higher = value > group.values[group.best].summary.median;
    if (group.better == Better::higher ? higher : lower) group.best = i;
  }
  group.typical = median(medians);
}

// Of a soak's cycles an entity shows its worst one.
void add_value(MetricGroup& group, const MeasuredValue& value, bool of_cycle) {
  const auto before = !of_cycle ? group.values.end()
                                : std::ranges::find_if(group.values, [&](const MeasuredValue& v) {
                                    return *v.entity == *value.entity;
                                  });
  if (before == group.values.end()) return group.values.push_back(value);
  const bool below = value.summary.median < before->summary.median;
  const bool above = value.summary.median > before->summary.median;
  if (group.better == Better::higher ? below : above) *before = value;
}

// Adds the groups of one step.
void gather_step(const Campaign& campaign, const Step& step, const Catalogue& catalogue,
                 std::vector<MetricGroup>& out) {
  const std::string domain = domain_of(campaign, step, catalogue);
  std::map<std::tuple<std::string, std::string, std::string>, size_t> places;
  for (const Job& job : campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      if (!record.measured()) continue;
      for (const Metric& metric : record.metrics) {
        if (metric.samples.empty()) continue;
        const Entity& entity = record.entities.at(metric.entity);
        const auto [place, is_new] =
            places.try_emplace({params_key(record.params), metric.name, entity.kind}, out.size());
        if (is_new)
          out.push_back({.step = &step,
                         .info = info_of(record, catalogue),
                         .domain = domain,
                         .case_name = record.case_name,
                         .params = record.params,
                         .metric = metric.name,
                         .unit = metric.unit,
                         .better = metric.better,
                         .entity_kind = entity.kind});
        add_value(out[place->second],
                  {&record, &metric, &entity, metric.samples.summary(), &job.document->run},
                  job.cycle > 0);
      }
    }
  }
}

// Returns the integer value of a parameter that has exactly one value; nothing otherwise.
std::optional<int64_t> single_integer(const Params& params, const std::string& name) {
  const auto found = params.all().find(name);
  if (found == params.all().end() || found->second.size() != 1) return std::nullopt;
  const int64_t* value = std::get_if<int64_t>(&found->second[0]);
  return value != nullptr ? std::optional(*value) : std::nullopt;
}

bool is_size(const CaseInfo* info, const std::string& name) {
  const ParamDef* def = find_param(info, name);
  return def != nullptr ? def->type == ParamType::size : name.find("size") != std::string::npos;
}

// Returns the parameter over which these groups sweep: the size, or the integer, with most values.
std::string sweep_key(const std::vector<const MetricGroup*>& groups) {
  std::map<std::string, std::set<int64_t>> values;
  for (const MetricGroup* group : groups) {
    for (const auto& [name, unused] : group->params.all()) {
      if (const auto value = single_integer(group->params, name); value && *value > 0)
        values[name].insert(*value);
    }
  }
  std::tuple<bool, size_t> best{false, 2};
  std::string key;
  for (const auto& [name, distinct] : values) {
    if (distinct.size() < 3) continue;
    const std::tuple candidate{is_size(groups.front()->info, name), distinct.size()};
    if (candidate > best) {
      best = candidate;
      key = name;
    }
  }
  return key;
}

}  // namespace

std::string params_key(const Params& params) {
  std::string out;
  for (const auto& [name, values] : params.all()) {
    out += name + '=';
    for (const ParamValue& value : values) out += to_text(value) + ',';
    out += ';';
  }
  return out;
}

std::vector<MetricGroup> gather_metrics(const Campaign& campaign, const Catalogue& catalogue) {
  std::vector<MetricGroup> out;
  for (const Step& step : campaign.profile.steps) gather_step(campaign, step, catalogue, out);
  for (MetricGroup& group : out) place_ends(group);
  return out;
}

std::vector<MetricGroup> gather_metrics_and_drills(const Campaign& campaign,
                                                   const Catalogue& catalogue) {
  std::vector<MetricGroup> out = gather_metrics(campaign, catalogue);
  const size_t before = out.size();
  for (const Step& drill : campaign.drills) gather_step(campaign, drill, catalogue, out);
  for (size_t i = before; i < out.size(); ++i) place_ends(out[i]);
  return out;
}

SweepsAndPoints find_sweeps(const std::vector<const MetricGroup*>& groups) {
  SweepsAndPoints out;
  if (groups.empty()) return out;
  const std::string key = sweep_key(groups);
  std::map<std::string, size_t> places;
  std::vector<std::vector<const MetricGroup*>> lines;
  for (const MetricGroup* group : groups) {
    Params rest = group->params;
    const auto value = single_integer(group->params, key);
    if (value && *value > 0) rest.erase(key);
    const auto [place, is_new] = places.try_emplace(params_key(rest), lines.size());
    if (is_new) lines.emplace_back();
    lines[place->second].push_back(group);
  }
  for (auto& line : lines) {
    if (key.empty() || line.size() < 3) {
      out.points.insert(out.points.end(), line.begin(), line.end());
      continue;
    }
    std::ranges::stable_sort(line, {},
                             [&](const MetricGroup* g) { return g->params.integer(key); });
    out.sweeps.push_back({key, is_size(line.front()->info, key), std::move(line)});
  }
  return out;
}

std::string domain_of(const Campaign& campaign, const Step& step, const Catalogue& catalogue) {
  const CaseInfo* info = case_of(step, catalogue);
  if (info != nullptr && !info->domain.empty()) return info->domain;
  for (const Criterion& criterion : campaign.profile.criteria) {
    if (criterion.step == step.id) return criterion.domain;
  }
  return is_drill_step(step.id) ? "stability" : "host";
}

const ParamDef* find_param(const CaseInfo* info, std::string_view name) {
  if (info == nullptr) return nullptr;
  const auto found = std::ranges::find(info->params, name, &ParamDef::name);
  return found == info->params.end() ? nullptr : &*found;
}

std::string param_text(const CaseInfo* info, const std::string& name,
                       const std::vector<ParamValue>& values) {
  const ParamDef* def = find_param(info, name);
  std::string out;
  for (const ParamValue& value : values) {
    if (!out.empty()) out += ",";
    const auto* whole = std::get_if<int64_t>(&value);
    const auto* number = std::get_if<double>(&value);
    if (whole != nullptr && is_size(info, name)) {
      out += format_size(*whole);
    } else if (number != nullptr && def != nullptr && def->type == ParamType::duration) {
      out += format_seconds(*number);
    } else {
      out += to_text(value);
    }
  }
  return name + " " + out;
}

}  // namespace cb
