#include "judge/capture.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/json/json_text.h"
#include "core/profile_drills.h"
#include "core/stats.h"
#include "core/units.h"
#include "judge/verdict_select.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr double kSpreads = 3;
constexpr double kNormal = 1.4826;  // MAD to standard deviation of a normal distribution
constexpr double kMinRoom = 0.03;
constexpr size_t kMinFigures = 3;  // fewer medians show no spread

// Medians of all entities of all campaigns for one metric of one step at the selected points.
struct Pool {
  std::vector<double> medians;
  std::string unit;
  Better better = Better::higher;
};

Pool pool_of(const std::vector<KnownGood>& campaigns, const std::string& step,
             const MetricRule& rule) {
  Pool out;
  for (const KnownGood& known : campaigns) {
    for (const MetricGroup& g : known.groups) {
      if (g.step->id != step || g.metric != rule.metric || !matches(g.params, rule.at)) continue;
      out.unit = g.unit;
      out.better = g.better;
      for (const MeasuredValue& v : g.values)
        out.medians.push_back(statistic_of(v.summary, rule.statistic));
    }
  }
  return out;
}

// Rounds to three digits, away from the median.
double rounded(double value, bool down) {
  if (value == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2);
  constexpr double kRounding = 1e-9;  // 1.94 / 0.01 is not quite 194
  const double steps = value / unit;
  return std::stod(fmt::format(
      "{:.2e}", (down ? std::floor(steps + kRounding) : std::ceil(steps - kRounding)) * unit));
}

void set_limit(json& criterion, const Pool& pool, size_t campaigns, const std::string& day) {
  const double middle = median(pool.medians);
  const double spread = kNormal * median_absolute_deviation(pool.medians);
  const double room = std::max(kSpreads * spread, kMinRoom * std::abs(middle));
  for (const char* key : {"min", "max", "min_of_ceiling"}) criterion.erase(key);
  const bool thin = pool.medians.size() < kMinFigures;
  if (pool.better == Better::higher)
    criterion["min"] = rounded(std::max(0.0, middle - room), true);
  else
    criterion["max"] = rounded(middle + room, false);
  criterion["source"] = {
      {"kind", "measured"},
      {"date", day},
      {"ref",
       {{"en",
         fmt::format("median {}, spread {}, {} entities of {} campaigns{}",
                     format_value(middle, pool.unit), format_value(spread, pool.unit),
                     pool.medians.size(), campaigns, thin ? ": too few to know the spread" : "")},
        {"zh",
         fmt::format("中位数 {}，离散 {}，{} 个批次共 {} 个对象{}", format_value(middle, pool.unit),
                     format_value(spread, pool.unit), campaigns, pool.medians.size(),
                     thin ? "：数量不足以得知离散程度" : "")}}}};
}

void refuse_unlike(const std::vector<KnownGood>& campaigns) {
  Problems problems;
  const auto steps = [](const Campaign& c) {
    std::vector<std::tuple<std::string, std::string, GivenParams>> out;
    for (const Step& s : c.profile.steps) out.emplace_back(s.id, s.case_name, s.params);
    return out;
  };
  for (const KnownGood& known : campaigns) {
    const Campaign& c = *known.campaign;
    if (c.ended.empty()) problems.add(c.id, "is not finished");
    if (steps(c) != steps(*campaigns.front().campaign))
      problems.add(c.id, "has other steps than the first campaign");
  }
  if (!problems.empty()) throw UsageError("profile capture", problems);
}

// A criterion for the first metric of every step that the profile does not judge.
void add_unjudged(json& criteria, const KnownGood& first) {
  std::set<std::string> judged;
  for (const Criterion& c : first.campaign->profile.criteria) {
    if (std::holds_alternative<MetricRule>(c.rule)) judged.insert(c.step);
  }
  for (const MetricGroup& g : first.groups) {
    if (!judged.insert(g.step->id).second) continue;
    criteria.push_back(
        {{"id", g.step->id + ".captured"},
         {"step", g.step->id},
         {"domain", g.domain},
         {"metric", g.metric},
         {"why", {{"en", "As on machines known to be good."}, {"zh", "与已知良好的机器一致。"}}}});
  }
}

// Returns the profile's rule for this criterion, or the plain median of its metric.
MetricRule rule_of(const Profile& profile, const json& criterion) {
  for (const Criterion& c : profile.criteria) {
    if (c.id == criterion["id"].get<std::string>()) return std::get<MetricRule>(c.rule);
  }
  return {.metric = criterion["metric"].get<std::string>()};
}

using Entries = std::map<std::string, json>;

Entries by_id(const json& profile, const char* list) {
  Entries out;
  for (const json& entry : profile.value(list, json::array())) out[entry.value("id", "")] = entry;
  return out;
}

void add_changes(std::vector<std::string>& out, const std::string& where, const json& a,
                 const json& b) {
  std::set<std::string> keys;
  for (const auto& [key, value] : a.items()) keys.insert(key);
  for (const auto& [key, value] : b.items()) keys.insert(key);
  for (const std::string& key : keys) {
    const json before = a.value(key, json()), after = b.value(key, json());
    if (before == after) continue;
    const auto text = [](const json& j) { return j.is_null() ? std::string("absent") : j.dump(); };
    out.push_back(fmt::format("~ {}.{}: {} → {}", where, key, text(before), text(after)));
  }
}

}  // namespace

std::string captured_profile(const std::vector<KnownGood>& campaigns, const std::string& name,
                             std::vector<std::string>* thin) {
  if (campaigns.empty()) throw UsageError("profile capture", "DIR", "is missing");
  refuse_unlike(campaigns);
  const Campaign& first = *campaigns.front().campaign;
  json out = json::parse(first.profile.resolved);
  out["schema"] = "clusterbench.profile/1";
  out["name"] = name;
  json criteria = json::array();
  json given = out.value("criteria", json::array());
  add_unjudged(given, campaigns.front());
  std::string day;
  for (const KnownGood& known : campaigns) day = std::max(day, known.campaign->ended.substr(0, 10));
  for (json& criterion : given) {
    const bool of_drill = is_drill_step(criterion.value("step", ""));
    if (!of_drill && criterion.contains("metric") && !criterion.contains("max_spread_of_host") &&
        !criterion.contains("max_ratio_of_host")) {
      const MetricRule rule = rule_of(first.profile, criterion);
      const Pool pool = pool_of(campaigns, criterion["step"].get<std::string>(), rule);
      if (pool.medians.empty()) continue;  // a metric that was not measured gives no limit
      if (pool.medians.size() < kMinFigures && thin != nullptr)
        thin->push_back(criterion["id"].get<std::string>());
      set_limit(criterion, pool, campaigns.size(), day);
    }
    criteria.push_back(std::move(criterion));
  }
  out["criteria"] = std::move(criteria);
  return dump_json(out);
}

std::vector<std::string> profile_differences(const std::string& before, const std::string& after) {
  const json a = json::parse(before), b = json::parse(after);
  std::vector<std::string> out;
  for (const char* list : {"steps", "criteria", "checklist"}) {
    const Entries old_ones = by_id(a, list), new_ones = by_id(b, list);
    for (const auto& [id, entry] : old_ones) {
      const std::string where = fmt::format("{}[{}]", list, id);
      const auto found = new_ones.find(id);
      if (found == new_ones.end())
        out.push_back("- " + where);
      else
        add_changes(out, where, entry, found->second);
    }
    for (const auto& [id, entry] : new_ones) {
      if (!old_ones.contains(id)) out.push_back(fmt::format("+ {}[{}]", list, id));
    }
  }
  return out;
}

}  // namespace cb
