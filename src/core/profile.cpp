#include "core/profile.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/profile_merge.h"
#include "core/sha256.h"
#include "core/suggest.h"
#include "core/units.h"

namespace cb {
namespace {

using nlohmann::json;

const std::vector<std::string> kDomains{"host",    "compute", "memory",   "interconnect",
                                        "network", "storage", "stability"};
const std::vector<std::string> kSourceKinds{"standard", "vendor", "measured", "contract",
                                            "practice"};
const std::vector<std::string> kStatistics{"min", "p05", "median", "mean", "p95", "p99", "max"};

// Reads one JSON object key by key; what is wrong, missing or left over is added to the problems
// under its path.
class Reader {
 public:
  Reader(const json& object, std::string path, Problems& problems)
      : object_(object), path_(std::move(path)), problems_(problems), usable_(object.is_object()) {
    if (!usable_) problems_.add(path_, "is not an object");
  }

  std::string where(const std::string& key) const {
    return path_.empty() ? key : path_ + "." + key;
  }
  void problem(const std::string& key, std::string what) {
    problems_.add(where(key), std::move(what));
  }

  const json* find(const std::string& key) {
    known_.push_back(key);
    if (!usable_ || !object_.contains(key)) return nullptr;
    return &object_[key];
  }

  std::string text(const std::string& key,
                   const std::optional<std::string>& fallback = std::nullopt) {
    const json* value = find(key);
    if (value == nullptr) {
      if (!fallback && usable_) problem(key, "is missing");
      return fallback.value_or("");
    }
    if (!value->is_string() || value->get<std::string>().empty()) {
      problem(key, "is not a text");
      return "";
    }
    return value->get<std::string>();
  }

  std::string one_of(const std::string& key, const std::vector<std::string>& valid,
                     const std::optional<std::string>& fallback = std::nullopt) {
    const std::string value = text(key, fallback);
    if (!value.empty() && std::find(valid.begin(), valid.end(), value) == valid.end())
      problem(key, unknown_name(value, valid));
    return value;
  }

  std::optional<double> number(const std::string& key) {
    const json* value = find(key);
    if (value == nullptr) return std::nullopt;
    if (value->is_number()) return value->get<double>();
    problem(key, "is not a number");
    return std::nullopt;
  }

  double duration(const std::string& key, double fallback) {
    const json* value = find(key);
    if (value == nullptr) return fallback;
    const auto seconds = value->is_string()   ? parse_duration(value->get<std::string>())
                         : value->is_number() ? std::optional(value->get<double>())
                                              : std::nullopt;
    if (seconds && *seconds > 0) return *seconds;
    problem(key, "is not a duration such as \"90s\" or \"10m\"");
    return fallback;
  }

  LocalText local_text(const std::string& key, const std::string& fallback) {
    const json* value = find(key);
    if (value == nullptr) return {fallback, fallback};
    Reader reader(*value, where(key), problems_);
    LocalText out{reader.text("en"), reader.text("zh")};
    reader.finish();
    return out;
  }

  // {"size": "4K", "op": ["a", "b"], "direct": true} as a user would have given them on the command
  // line.
  GivenParams given(const std::string& key) {
    GivenParams out;
    const json* value = find(key);
    if (value == nullptr) return out;
    if (!value->is_object()) {
      problem(key, "is not an object");
      return out;
    }
    for (const auto& [name, v] : value->items()) {
      for (const json& single : v.is_array() ? v : json::array({v})) {
        if (single.is_structured() || single.is_null()) {
          problem(key + "." + name, "is neither a number, a text nor a truth value");
        } else {
          out[name].push_back(single.is_string() ? single.get<std::string>() : single.dump());
        }
      }
    }
    return out;
  }

  std::map<std::string, std::string> texts(const std::string& key) {
    std::map<std::string, std::string> out;
    for (auto& [name, values] : given(key)) {
      if (values.size() == 1)
        out[name] = values[0];
      else
        problem(key + "." + name, "is not a single value");
    }
    return out;
  }

  Requirements requirements(const std::string& key) {
    Requirements out;
    for (const auto& [name, value] : texts(key)) {
      const auto count = parse_integer(value);
      if (count && *count >= 1 && *count <= 1000000)
        out[name] = static_cast<int>(*count);
      else
        problem(key + "." + name, "is not a whole number of at least 1");
    }
    return out;
  }

  // Everything that was not asked for is a problem.
  void finish() {
    if (!usable_) return;
    for (const auto& [key, value] : object_.items()) {
      if (std::find(known_.begin(), known_.end(), key) == known_.end())
        problem(key, unknown_name(key, known_));
    }
  }

 private:
  const json& object_;
  std::string path_;
  Problems& problems_;
  bool usable_;
  std::vector<std::string> known_;
};

Step read_step(Reader& r) {
  Step step{.id = r.text("id"), .case_name = r.text("case"), .params = r.given("params")};
  step.scope =
      r.one_of("scope", {"host", "cluster"}, "host") == "cluster" ? Scope::cluster : Scope::host;
  if (const json* ranks = r.find("ranks_per_host")) {
    if (*ranks == "slots")
      step.ranks_per_host = 0;
    else if (ranks->is_number_integer() && ranks->get<int64_t>() >= 1 &&
             ranks->get<int64_t>() <= 4096)
      step.ranks_per_host = ranks->get<int>();
    else
      r.problem("ranks_per_host", "is neither \"slots\" nor a whole number from 1 to 4096");
  }
  step.env = r.texts("env");
  step.deadline_seconds = r.duration("deadline", step.deadline_seconds);
  step.needs = r.requirements("needs");
  return step;
}

MetricRule read_metric_rule(Reader& r) {
  MetricRule rule{.metric = r.text("metric"), .at = r.given("at")};
  rule.statistic = r.one_of("statistic", kStatistics, "median");
  rule.min = r.number("min");
  rule.max = r.number("max");
  rule.min_of_ceiling = r.number("min_of_ceiling");
  if (!rule.min && !rule.max && !rule.min_of_ceiling)
    r.problem("metric", "has no limit: min, max or min_of_ceiling");
  if (rule.min && rule.min_of_ceiling) r.problem("min", "and min_of_ceiling exclude each other");
  if (rule.min && rule.max && *rule.min > *rule.max)
    r.problem("min", "is above max: nothing can pass");
  if (rule.min_of_ceiling && (*rule.min_of_ceiling <= 0 || *rule.min_of_ceiling > 1)) {
    r.problem("min_of_ceiling", "is a share of a physical ceiling: above 0, at most 1");
  }
  return rule;
}

UniformRule read_uniform_rule(Reader& r) {
  UniformRule rule;
  const json* list = r.find("uniform");
  for (const json& a : list->is_array() ? *list : json::array({*list})) {
    const auto text = a.is_string() ? a.get<std::string>() : "";
    if (text.find('.') == std::string::npos)
      r.problem("uniform", "is not a list of \"kind.attribute\"");
    else
      rule.attributes.push_back(text);
  }
  return rule;
}

Source read_source(Reader& parent, Problems& problems) {
  const json* value = parent.find("source");
  if (value == nullptr) {
    parent.problem("source", "is missing: every threshold says where it comes from");
    return {};
  }
  Reader r(*value, parent.where("source"), problems);
  Source out{r.one_of("kind", kSourceKinds), r.text("ref"), r.text("date")};
  r.finish();
  return out;
}

Criterion read_criterion(Reader& r, Problems& problems) {
  Criterion c{.id = r.text("id"), .step = r.text("step"), .domain = r.one_of("domain", kDomains)};
  c.title = r.local_text("title", c.id);
  const bool metric = r.find("metric") != nullptr, check = r.find("check") != nullptr,
             uniform = r.find("uniform") != nullptr;
  if (metric + check + uniform != 1) {
    r.problem("metric", "exactly one of metric, check and uniform is needed");
  } else if (metric) {
    c.rule = read_metric_rule(r);
  } else if (check) {
    c.rule = CheckRule{.check = r.text("check"), .at = r.given("at")};
  } else {
    c.rule = read_uniform_rule(r);
  }
  c.severity =
      r.one_of("severity", {"fail", "warn"}, "fail") == "warn" ? Severity::warn : Severity::fail;
  c.why = r.text("why");
  c.source = read_source(r, problems);
  c.needs = r.requirements("needs");
  return c;
}

// Reads a list of objects, each with an id of its own.
template <typename T, typename Read>
std::vector<T> read_list(Reader& parent, const std::string& key, Problems& problems, Read read) {
  std::vector<T> out;
  const json* list = parent.find(key);
  if (list == nullptr) return out;
  if (!list->is_array()) {
    parent.problem(key, "is not a list");
    return out;
  }
  std::set<std::string> ids;
  for (size_t i = 0; i < list->size(); ++i) {
    const json& element = (*list)[i];
    const std::string id =
        element.is_object() && element.contains("id") && element["id"].is_string()
            ? element["id"].get<std::string>()
            : std::to_string(i);
    Reader r(element, fmt::format("{}[{}]", key, id), problems);
    out.push_back(read(r));
    r.finish();
    if (!ids.insert(out.back().id).second) r.problem("id", "stands twice");
  }
  return out;
}

Profile parse(const json& j, const std::string& source) {
  Problems problems;
  Reader r(j, "", problems);
  r.find("schema");
  Profile profile{.name = r.text("name"), .title = r.local_text("title", source)};
  profile.steps = read_list<Step>(r, "steps", problems, [](Reader& e) { return read_step(e); });
  profile.criteria = read_list<Criterion>(r, "criteria", problems,
                                          [&](Reader& e) { return read_criterion(e, problems); });
  profile.checklist = read_list<ChecklistItem>(r, "checklist", problems, [](Reader& e) {
    return ChecklistItem{e.text("id"), e.one_of("domain", kDomains), e.local_text("text", "")};
  });
  r.finish();
  if (!problems.empty()) throw UsageError("profile " + source, problems);
  profile.resolved = dump_json(j);
  profile.sha256 = sha256_hex(profile.resolved);
  return profile;
}

// ---- validation against the catalogue

std::vector<std::string> case_names(const Catalogue& catalogue) {
  std::vector<std::string> out;
  for (const CaseInfo& info : catalogue) {
    if (std::find(out.begin(), out.end(), info.name) == out.end()) out.push_back(info.name);
  }
  return out;
}

void validate_step(const Step& step, const Catalogue& catalogue, Problems& problems) {
  const std::string where = fmt::format("steps[{}]", step.id);
  const CaseInfo* info = case_of(step, catalogue);
  if (info == nullptr) {
    const bool name_known = find_case(catalogue, step.case_name) != nullptr;
    return problems.add(where + (name_known ? ".params.device" : ".case"),
                        name_known ? "the case does not run on that device"
                                   : unknown_name(step.case_name, case_names(catalogue)));
  }
  Problems found;
  resolve_params(info->params, step.params, found);
  for (const Problem& p : found.list) problems.add(where + ".params." + p.where.substr(2), p.what);
}

void validate_at(const GivenParams& at, const CaseInfo& info, const std::string& where,
                 Problems& problems) {
  std::vector<std::string> names;
  for (const ParamDef& def : info.params) names.push_back(def.name);
  for (const auto& [name, values] : at) {
    if (std::find(names.begin(), names.end(), name) == names.end())
      problems.add(where + ".at." + name, unknown_name(name, names));
  }
}

void validate_rule(const Criterion& criterion, const CaseInfo& info, Problems& problems) {
  const std::string where = fmt::format("criteria[{}]", criterion.id);
  if (const auto* rule = std::get_if<MetricRule>(&criterion.rule)) {
    std::vector<std::string> names;
    for (const MetricDef& def : info.metrics) names.push_back(def.name);
    if (std::find(names.begin(), names.end(), rule->metric) == names.end())
      problems.add(where + ".metric", unknown_name(rule->metric, names));
    validate_at(rule->at, info, where, problems);
  } else if (const auto* check = std::get_if<CheckRule>(&criterion.rule)) {
    if (std::find(info.checks.begin(), info.checks.end(), check->check) == info.checks.end())
      problems.add(where + ".check", unknown_name(check->check, info.checks));
    validate_at(check->at, info, where, problems);
  }
}

}  // namespace

const CaseInfo* case_of(const Step& step, const Catalogue& catalogue) {
  const auto device = step.params.find("device");
  return find_case(catalogue, step.case_name,
                   device == step.params.end() || device->second.empty() ? "" : device->second[0]);
}

Profile load_profile(const std::string& name, const ProfileSource& source) {
  return parse(resolve_profile_json(name, source), name);
}

Profile parse_resolved_profile(std::string_view text, const std::string& source) {
  const json j = parse_json(text, source);
  require_schema(j, "clusterbench.profile", 1, source);
  return parse(j, source);
}

Problems validate_profile(const Profile& profile, const Catalogue& catalogue) {
  Problems problems;
  std::vector<std::string> ids;
  for (const Step& step : profile.steps) {
    ids.push_back(step.id);
    validate_step(step, catalogue, problems);
  }
  for (const Criterion& c : profile.criteria) {
    const auto step = std::find_if(profile.steps.begin(), profile.steps.end(),
                                   [&](const Step& s) { return s.id == c.step; });
    if (step == profile.steps.end()) {
      problems.add(fmt::format("criteria[{}].step", c.id), unknown_name(c.step, ids));
    } else if (const CaseInfo* info = case_of(*step, catalogue)) {
      validate_rule(c, *info, problems);
    }
  }
  return problems;
}

}  // namespace cb
