#include "core/profile_soak.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/suggest.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr const char* kInterruptions = "interruptions";
constexpr const char* kMtbi = "mean_time_between_interruptions";
constexpr const char* kDecay = "decay";
constexpr const char* kEvents = "events";

std::vector<std::string> valid_names_of_events() {
  std::vector<std::string> out{"defect", "degradation", "environment", "tool"};
  for (const EventKind& kind : event_kinds()) out.emplace_back(kind.name);
  return out;
}

// Cases that load nothing.
constexpr std::array<std::string_view, 6> kReaders{"events", "health", "drives",
                                                   "nics",   "optics", "fabric"};

// So many events or more are no limit that anything could miss: a counter that grows by ten
// thousand in a soak is a fault by itself.
constexpr double kMostEvents = 1e4;

std::vector<std::string> read_names(ProfileReader& r, const char* key) {
  const json* list = r.find(key);
  std::vector<std::string> out;
  if (list == nullptr || !list->is_array() || list->empty()) {
    r.problem(key, "is not a list of names");
    return out;
  }
  for (const json& name : *list) {
    if (name.is_string())
      out.push_back(name.get<std::string>());
    else
      r.problem(key, "holds something that is no name");
  }
  return out;
}

double read_count(ProfileReader& r) {
  const auto limit = r.number("max");
  if (!limit || *limit < 0 || *limit != std::floor(*limit))
    r.problem("max", "is not a whole number from 0");
  else if (*limit >= kMostEvents)
    r.problem("max", "is a limit that nothing can miss");
  return limit.value_or(0);
}

double read_confidence(ProfileReader& r) {
  const double confidence = r.number("confidence").value_or(0.95);
  if (!(confidence >= 0.5 && confidence <= 0.999))
    r.problem("confidence", "is a probability from 0.5 to 0.999");
  return confidence;
}

void read_decay(ProfileReader& r, SoakRule& rule) {
  rule.metric = r.text("metric");
  rule.at = r.given("at");
  rule.confidence = read_confidence(r);
  const auto limit = r.number("max_loss");
  if (!limit || !(*limit > 0 && *limit <= 0.5))
    r.problem("max_loss", "is the share lost over the soak: above 0, at most 0.5");
  rule.limit = limit.value_or(0.5);
}

void read_events(ProfileReader& r, SoakRule& rule) {
  rule.limit = read_count(r);
  rule.of = read_names(r, "of");
  const std::vector<std::string> valid = valid_names_of_events();
  for (const std::string& name : rule.of) {
    if (std::ranges::find(valid, name) == valid.end()) r.problem("of", unknown_name(name, valid));
  }
}

void require_neighbours(const Profile& profile, Problems& problems) {
  const std::vector<std::string>& wanted = profile.soak->steps;
  const auto first = std::ranges::find(profile.steps, wanted.front(), &Step::id);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto left = static_cast<size_t>(profile.steps.end() - first);
    if (i < left && (first + static_cast<std::ptrdiff_t>(i))->id == wanted[i]) continue;
    std::vector<std::string> ids;
    for (const Step& step : profile.steps) ids.push_back(step.id);
    const bool known = std::ranges::find(ids, wanted[i]) != ids.end();
    return problems.add("soak.steps",
                        known ? fmt::format("has {} where the profile has another step: name "
                                            "neighbours, in the profile's order",
                                            wanted[i])
                              : unknown_name(wanted[i], ids));
  }
}

const SoakRule* soak_rule(const Criterion& criterion) {
  return std::get_if<SoakRule>(&criterion.rule);
}

// With as many interruptions as a host has jobs, one could be down all the time. With every job
// interrupted, the mean time between interruptions is the time of a job; its lower bound at any
// confidence is above a tenth of that.
void refuse_useless_count(const SoakRule& rule, const Soak& soak, const std::string& where,
                          Problems& problems) {
  const size_t jobs = soak.cycles() * soak.steps.size();
  if (rule.kind == SoakRule::Kind::interruptions && rule.limit >= static_cast<double>(jobs))
    problems.add(where + ".max",
                 fmt::format("is a limit that nothing on one host can miss: it has {} jobs in the "
                             "soak, and all of them could end badly",
                             jobs));
  if (rule.kind == SoakRule::Kind::mtbi && jobs > 0 &&
      rule.limit < 0.1 * soak.for_seconds / static_cast<double>(jobs))
    problems.add(where + ".min",
                 fmt::format("is a limit that nothing can miss: each of {} jobs in the soak could "
                             "end badly",
                             jobs));
}

}  // namespace

size_t Soak::cycles() const {
  return every_seconds > 0 ? static_cast<size_t>(std::ceil(for_seconds / every_seconds - 1e-9)) : 0;
}

bool Soak::has(const std::string& step) const {
  return std::ranges::find(steps, step) != steps.end();
}

bool is_reading(const Profile& profile, const Step& step) {
  return profile.soak && profile.soak->has(step.id) &&
         std::ranges::find(kReaders, step.case_name) != kReaders.end();
}

bool is_last_reading(const Profile& profile, size_t cycle) {
  return profile.soak && cycle > profile.soak->cycles();
}

const char* event_class_name(EventClass c) {
  switch (c) {
    case EventClass::defect:
      return "defect";
    case EventClass::degradation:
      return "degradation";
    case EventClass::environment:
      return "environment";
    case EventClass::tool:
      break;
  }
  return "tool";
}

// Classes as in docs/methods/soak.md, which has the sources.
const std::vector<EventKind>& event_kinds() {
  using enum EventClass;
  static const std::vector<EventKind> kinds{
      {"interruption", defect, false},
      {"wrong_data", defect, false},
      {"finding", degradation, false},
      {"campaign_stopped", tool, false},
      {"gpu_memory_uncorrected", defect, false},
      {"gpu_memory_corrected", degradation, false},
      {"gpu_rows_remapped", degradation, false},
      {"xid", defect, true},
      {"xid_of_program", tool, true},
      {"nvlink_error", degradation, false},
      {"pcie_error", degradation, false},
      {"pcie_fatal", defect, false},
      {"link_down", degradation, false},
      {"link_error", degradation, false},
      {"drive_error", defect, false},
      {"drive_reset", degradation, true},
      {"memory_uncorrected", defect, false},
      {"memory_corrected", degradation, false},
      {"machine_check", defect, true},
      {"throttling", environment, false},
      {"lockup", degradation, true},
      {"out_of_memory", environment, true},
      {"file_system_error", defect, true},
      {"program_fault", tool, true},
      {"reboot", defect, false},
      {"kernel_fault", defect, true},
      {"device_error", defect, true},
      {"server_unreachable", environment, true},
  };
  return kinds;
}

const EventKind* find_event_kind(std::string_view name) {
  for (const EventKind& kind : event_kinds()) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

SoakRule read_soak_rule(ProfileReader& r) {
  SoakRule rule;
  const std::string kind = r.one_of("soak", {kInterruptions, kMtbi, kDecay, kEvents});
  if (kind == kMtbi) {
    rule.kind = SoakRule::Kind::mtbi;
    rule.limit = r.duration("min", 0);
    rule.confidence = read_confidence(r);
    rule.per_host = r.one_of("per", {"host", "cluster"}, "cluster") == "host";
    if (rule.limit <= 0) r.problem("min", "is not a duration such as \"100h\"");
  } else if (kind == kDecay) {
    rule.kind = SoakRule::Kind::decay;
    read_decay(r, rule);
  } else if (kind == kEvents) {
    rule.kind = SoakRule::Kind::events;
    read_events(r, rule);
  } else {
    rule.limit = read_count(r);
  }
  return rule;
}

void read_soak(ProfileReader& parent, Profile& profile, Problems& problems) {
  const json* value = parent.find("soak");
  if (value == nullptr) return;
  ProfileReader r(*value, parent.where("soak"), problems);
  Soak soak{.steps = read_names(r, "steps")};
  for (const char* key : {"for", "every"}) {
    if (r.find(key) == nullptr) r.problem(key, "is missing");
  }
  soak.for_seconds = r.duration("for", 1);
  soak.every_seconds = r.duration("every", 1);
  if (soak.cycles() < 2 || soak.cycles() > kMaxCycles) {
    r.problem("for", fmt::format("gives {} cycles: from 2 to {}", soak.cycles(), kMaxCycles));
    soak.for_seconds = 2 * soak.every_seconds;
  }
  r.finish();
  if (soak.steps.empty()) return;
  for (Criterion& c : profile.criteria) {
    if (soak_rule(c) != nullptr && c.step.empty()) c.step = soak.steps.front();
  }
  profile.soak = std::move(soak);
}

void validate_soak_rule(const SoakRule& rule, const CaseInfo& info, const std::string& where,
                        Problems& problems) {
  if (rule.kind != SoakRule::Kind::decay) return;
  std::vector<std::string> names;
  for (const MetricDef& def : info.metrics) names.push_back(def.name);
  if (std::ranges::find(names, rule.metric) == names.end())
    problems.add(where + ".metric", unknown_name(rule.metric, names));
}

void validate_soak(const Profile& profile, Problems& problems) {
  for (const Criterion& c : profile.criteria) {
    if (soak_rule(c) == nullptr) continue;
    const std::string where = fmt::format("criteria[{}]", c.id);
    if (!profile.soak)
      problems.add(where + ".soak", "needs a soak: the profile has none");
    else if (!profile.soak->has(c.step))
      problems.add(where + ".step", fmt::format("{} is no step of the soak", c.step));
    else
      refuse_useless_count(*soak_rule(c), *profile.soak, where, problems);
  }
  if (!profile.soak) return;
  require_neighbours(profile, problems);
  if (std::ranges::none_of(profile.criteria, counts_interruptions))
    problems.add("soak",
                 "is judged by no criterion of severity fail and kind interruptions or "
                 "mean_time_between_interruptions: an interruption would go unseen");
}

bool judges_figures(const Criterion& criterion) {
  const SoakRule* rule = soak_rule(criterion);
  return rule == nullptr || rule->kind == SoakRule::Kind::decay ||
         rule->kind == SoakRule::Kind::events;
}

bool counts_interruptions(const Criterion& criterion) {
  const SoakRule* rule = soak_rule(criterion);
  return rule != nullptr && criterion.severity == Severity::fail &&
         (rule->kind == SoakRule::Kind::interruptions || rule->kind == SoakRule::Kind::mtbi);
}

}  // namespace cb
