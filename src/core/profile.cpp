// Parses a resolved profile. Tolerates no mistake: see profile_reader.h.
#include "core/profile.h"

#include <algorithm>
#include <set>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/env_names.h"
#include "core/json/json_text.h"
#include "core/profile_expect_reader.h"
#include "core/profile_merge.h"
#include "core/profile_reader.h"
#include "core/profile_scope.h"
#include "core/profile_soak.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

using nlohmann::json;

const std::vector<std::string> kDomains{"host",    "compute", "memory",    "interconnect",
                                        "network", "storage", "stability", "training"};
const std::vector<std::string> kSourceKinds{"standard", "vendor", "measured", "contract",
                                            "practice"};
const std::vector<std::string> kStatistics{"min", "p05", "median", "mean", "p95", "p99", "max"};

void read_informative(ProfileReader& r, Step& step) {
  step.informative = r.flag("informative");
  if (step.informative || r.find("why") != nullptr) step.why = r.prose("why");
  if (!step.informative && r.find("why") != nullptr)
    r.problem("why", "says why a step is informative: add \"informative\": true, or remove it");
}

// Reads which ends of a job are worth another start.
void read_retries(ProfileReader& r, Step& step) {
  const auto number = r.number("retries");
  if (number && (*number < 0 || *number > 10 || *number != static_cast<int>(*number)))
    r.problem("retries", "is not a whole number from 0 to 10");
  else if (number)
    step.retries = static_cast<int>(*number);
  const json* list = r.find("retry_on");
  if (list == nullptr) return;
  step.retry_failed = step.retry_deadline = false;
  for (const json& word : list->is_array() ? *list : json::array({*list})) {
    if (word == "failed")
      step.retry_failed = true;
    else if (word == "deadline")
      step.retry_deadline = true;
    else
      r.problem("retry_on", "is a list of \"failed\" and \"deadline\"");
  }
  if (step.retries == 0) r.problem("retry_on", "says what to retry: add \"retries\", or remove it");
}

Step read_step(ProfileReader& r) {
  Step step{.id = r.text("id"), .case_name = r.text("case"), .params = r.given("params")};
  read_scope(r, step);
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
  for (const auto& [name, value] : step.env) {
    if (const auto why = refused_variable(name)) r.problem("env." + name, *why);
    if (terminal_safe(value) != value) r.problem("env." + name, "has a control character");
  }
  step.deadline_seconds = r.duration("deadline", step.deadline_seconds);
  step.start_deadline_seconds = r.duration("start_deadline", 0);
  step.stall_seconds = r.duration("stall", 0);
  if (step.start_deadline_seconds > step.deadline_seconds)
    r.problem("start_deadline", "is beyond the deadline: it would never pass");
  read_retries(r, step);
  step.needs = r.requirements("needs");
  if (const int least = least_hosts(step); least > 0)
    step.needs["hosts"] = std::max(step.needs["hosts"], least);
  read_informative(r, step);
  return step;
}

MetricRule read_metric_rule(ProfileReader& r) {
  MetricRule rule{.metric = r.text("metric"), .at = r.given("at")};
  rule.statistic = r.one_of("statistic", kStatistics, "median");
  rule.min = r.quantity("min", rule.units["min"]);
  rule.max = r.quantity("max", rule.units["max"]);
  rule.min_of_ceiling = r.number("min_of_ceiling");
  rule.min_of_fleet = r.number("min_of_fleet");
  rule.max_of_fleet = r.number("max_of_fleet");
  rule.max_spread_of_host = r.quantity("max_spread_of_host", rule.units["max_spread_of_host"]);
  rule.max_ratio_of_host = r.number("max_ratio_of_host");
  rule.since = r.text("since", "");
  if (!rule.since.empty() && (rule.min_of_ceiling || rule.min_of_fleet || rule.max_of_fleet ||
                              rule.compares_parts_of_host()))
    r.problem("since", "goes with min and max only: a growth has no ceiling and no fleet");
  const bool of_parts =
      rule.min || rule.max || rule.min_of_ceiling || rule.min_of_fleet || rule.max_of_fleet;
  if (!of_parts && !rule.compares_parts_of_host())
    r.problem("metric",
              "has no limit: min, max, min_of_ceiling, min_of_fleet, max_of_fleet, "
              "max_spread_of_host or max_ratio_of_host");
  if (of_parts && rule.compares_parts_of_host())
    r.problem("metric", "has limits for each part and for the spread of a host: make two criteria");
  if (rule.max_spread_of_host && *rule.max_spread_of_host < 0)
    r.problem("max_spread_of_host", "is negative: nothing can pass");
  if (rule.max_ratio_of_host && (*rule.max_ratio_of_host < 1 || *rule.max_ratio_of_host > 100))
    r.problem("max_ratio_of_host", "is the greatest value over the smallest: from 1 to 100");
  if (rule.min && rule.min_of_ceiling) r.problem("min", "and min_of_ceiling exclude each other");
  if (rule.min && rule.max && *rule.min > *rule.max)
    r.problem("min", "is above max: nothing can pass");
  // Nothing that runs at all misses a limit below a hundredth, or beyond a hundredfold.
  if (rule.min_of_ceiling && (*rule.min_of_ceiling < 0.01 || *rule.min_of_ceiling > 1))
    r.problem("min_of_ceiling", "is a share of a physical ceiling: from 0.01 to 1");
  if (rule.min_of_fleet && (*rule.min_of_fleet < 0.01 || *rule.min_of_fleet >= 1))
    r.problem("min_of_fleet", "is a share of the fleet's median: from 0.01, below 1");
  if (rule.max_of_fleet && (*rule.max_of_fleet <= 1 || *rule.max_of_fleet > 100))
    r.problem("max_of_fleet", "is a multiple of the fleet's median: above 1, at most 100");
  return rule;
}

UniformRule read_uniform_rule(ProfileReader& r) {
  UniformRule rule;
  const json* list = r.find("uniform");
  for (const json& a : list->is_array() ? *list : json::array({*list})) {
    const auto text = a.is_string() ? a.get<std::string>() : "";
    const size_t dot = text.find('.');
    if (dot == std::string::npos || dot == 0 || dot + 1 == text.size())
      r.problem("uniform", "is not a list of \"kind.attribute\"");
    else
      rule.attributes.push_back(text);
  }
  if (list->is_array() && list->empty()) r.problem("uniform", "is an empty list");
  return rule;
}

// True for YYYY, YYYY-MM or YYYY-MM-DD.
bool is_date(const std::string& text) {
  constexpr std::string_view pattern = "dddd-dd-dd";
  if (text.size() != 4 && text.size() != 7 && text.size() != 10) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (pattern[i] == 'd' ? !digit : text[i] != '-') return false;
  }
  const auto part = [&](size_t at) { return text.size() > at ? text.substr(at, 2) : "01"; };
  return part(5) >= "01" && part(5) <= "12" && part(8) >= "01" && part(8) <= "31";
}

Source read_source(ProfileReader& parent, Problems& problems) {
  const json* value = parent.find("source");
  if (value == nullptr) {
    parent.problem("source", "is missing: every threshold says where it comes from");
    return {};
  }
  ProfileReader r(*value, parent.where("source"), problems);
  Source out{r.one_of("kind", kSourceKinds), r.prose("ref"), r.text("date")};
  if (!out.date.empty() && !is_date(out.date))
    r.problem("date", "is not a date: YYYY, YYYY-MM or YYYY-MM-DD");
  r.finish();
  return out;
}

Criterion read_criterion(ProfileReader& r, Problems& problems) {
  const bool soak = r.find("soak") != nullptr;
  Criterion c{.id = r.text("id"), .step = soak ? r.text("step", "") : r.text("step")};
  c.domain = r.one_of("domain", kDomains);
  c.title = r.local_text("title", c.id);
  const bool metric = r.find("metric") != nullptr, check = r.find("check") != nullptr,
             uniform = r.find("uniform") != nullptr, expect = has_expect_rule(r);
  if (soak && !check && !uniform && !expect) {
    c.rule = read_soak_rule(r);
  } else if (metric + check + uniform + expect + soak != 1) {
    r.problem("metric",
              "exactly one of metric, check, uniform, expect (or assets) and soak is needed");
    for (const char* key : {"at", "statistic", "min", "max", "min_of_ceiling", "min_of_fleet",
                            "max_of_fleet", "max_spread_of_host", "max_ratio_of_host", "since"})
      r.find(key);
  } else if (metric) {
    c.rule = read_metric_rule(r);
  } else if (check) {
    c.rule = CheckRule{.check = r.text("check"), .at = r.given("at")};
  } else if (expect) {
    c.rule = read_expect_rule(r, problems);
  } else {
    c.rule = read_uniform_rule(r);
  }
  c.severity =
      r.one_of("severity", {"fail", "warn"}, "fail") == "warn" ? Severity::warn : Severity::fail;
  if (check && c.severity == Severity::warn)
    r.problem("severity", "is warn: a failed check is never a warning");
  c.why = r.prose("why");
  c.source = read_source(r, problems);
  c.needs = r.requirements("needs");
  return c;
}

// Reads a list of objects. Each must have its own id.
template <typename T, typename Read>
std::vector<T> read_list(ProfileReader& parent, const std::string& key, Problems& problems,
                         Read read) {
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
    ProfileReader r(element, fmt::format("{}[{}]", key, id), problems);
    out.push_back(read(r));
    r.finish();
    if (!ids.insert(out.back().id).second) r.problem("id", "stands twice");
  }
  return out;
}

std::optional<Delivery> read_delivery(ProfileReader& parent, Problems& problems) {
  const json* value = parent.find("delivery");
  if (value == nullptr) return std::nullopt;
  ProfileReader r(*value, "delivery", problems);
  const auto whole = [&](const char* key, double least) {
    const auto number = r.number(key);
    if (number && *number >= least && *number <= 1e6 && *number == static_cast<int>(*number))
      return static_cast<int>(*number);
    r.problem(key, fmt::format("is not a whole number from {} on", least));
    return static_cast<int>(least);
  };
  Delivery out{.hosts = whole("hosts", 1), .replaced_at_most = whole("replaced_at_most", 0)};
  if (out.replaced_at_most >= out.hosts)
    r.problem("replaced_at_most", "lets every host be replaced: it is below the number of hosts");
  out.why = r.prose("why");
  out.source = read_source(r, problems);
  r.finish();
  return out;
}

Profile read(const json& j, const std::string& source, Problems& problems) {
  ProfileReader r(j, "", problems);
  r.find("schema");
  Profile profile{.name = r.text("name"), .title = r.local_text("title", source)};
  profile.steps =
      read_list<Step>(r, "steps", problems, [](ProfileReader& e) { return read_step(e); });
  profile.criteria = read_list<Criterion>(
      r, "criteria", problems, [&](ProfileReader& e) { return read_criterion(e, problems); });
  profile.checklist = read_list<ChecklistItem>(r, "checklist", problems, [](ProfileReader& e) {
    return ChecklistItem{e.text("id"), e.one_of("domain", kDomains), e.local_text("text", "")};
  });
  read_soak(r, profile, problems);
  profile.delivery = read_delivery(r, problems);
  r.finish();
  profile.resolved = dump_json(j);
  profile.sha256 = sha256_hex(profile.resolved);
  return profile;
}

Profile parse(const json& j, const std::string& source) {
  Problems problems;
  Profile profile = read(j, source, problems);
  if (!problems.empty()) throw UsageError("profile " + source, problems);
  return profile;
}

}  // namespace

Profile load_profile(const std::string& name, const ProfileSource& source) {
  Problems problems;
  Profile profile = read_profile(name, source, problems);
  if (!problems.empty()) throw UsageError("profile " + name, problems);
  return profile;
}

Profile read_profile(const std::string& name, const ProfileSource& source, Problems& problems) {
  const json resolved = resolve_profile_json(name, source, problems);
  return read(resolved, name, problems);
}

Profile parse_resolved_profile(std::string_view text, const std::string& source) {
  const json j = parse_json(text, source);
  require_schema(j, "clusterbench.profile", 1, source);
  return parse(j, source);
}

}  // namespace cb
