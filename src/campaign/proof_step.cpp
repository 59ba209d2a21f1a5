#include "campaign/proof_step.h"

#include <algorithm>

#include "campaign/command_line.h"
#include "campaign/plan.h"
#include "core/params.h"
#include "core/units.h"

namespace cb {
namespace {

constexpr const char* kInject = "inject-fault";
constexpr double kStartSeconds = 1;

const ParamDef* definition(const CaseInfo& info, const std::string& name) {
  const auto found = std::ranges::find(info.params, name, &ParamDef::name);
  return found == info.params.end() ? nullptr : &*found;
}

// The step's own values, else the default; empty if the parameter is absent.
std::vector<std::string> values_of(const Step& step, const CaseInfo& info,
                                   const std::string& name) {
  if (const auto given = step.params.find(name); given != step.params.end()) return given->second;
  const ParamDef* def = definition(info, name);
  if (def == nullptr || def->default_text.empty()) return {};
  return {def->default_text};
}

// The values as the case reads them: "00" is 0. None where one of them cannot be read.
std::vector<ParamValue> resolved(const ParamDef& def, const std::vector<std::string>& texts) {
  Problems problems;
  const Params out = resolve_params({&def, 1}, {{def.name, texts}}, problems);
  const auto found = out.all().find(def.name);
  return problems.empty() && found != out.all().end() ? found->second : std::vector<ParamValue>();
}

// True if the step has what the Blind names.
bool is_blind(const Blind& blind, const Step& step, const CaseInfo& info) {
  const std::vector<std::string> texts = values_of(step, info, blind.param);
  if (blind.values.empty()) return !texts.empty();
  const ParamDef* def = definition(info, blind.param);
  if (def == nullptr) return false;
  const std::vector<ParamValue> own = resolved(*def, texts);
  return std::ranges::any_of(blind.values, [&](const std::string& text) {
    return std::ranges::any_of(resolved(*def, {text}), [&](const ParamValue& value) {
      return std::ranges::find(own, value) != own.end();
    });
  });
}

// Where the case can have it; for a choice of faults, the first fault.
std::string fault_value(const CaseInfo& info) {
  const ParamDef* def = definition(info, kInject);
  if (def == nullptr || def->type != ParamType::choice) return info.fault.at;
  const auto first = std::ranges::find_if(
      def->choices, [&](const std::string& c) { return c != def->default_text; });
  return first == def->choices.end() ? info.fault.at : *first;
}

// The value as a number, if it has an order; nothing for words.
std::optional<double> quantity(const ParamDef& def, const std::vector<std::string>& values) {
  if (values.size() != 1 || def.type == ParamType::flag) return std::nullopt;
  if (def.type == ParamType::duration) return parse_duration(values.front());
  return parse_number(values.front());
}

// True if the step is already as short in this parameter.
bool is_brief(const CaseInfo& info, const std::string& name, const std::vector<std::string>& own,
              const std::vector<std::string>& brief) {
  const ParamDef* def = definition(info, name);
  if (own == brief || def == nullptr) return true;
  const auto mine = quantity(*def, own), least = quantity(*def, brief);
  return mine && least && *mine <= *least;
}

bool is_possible(const CaseInfo& info, const GivenParams& params) {
  Problems problems;
  resolve_params(info.params, params, problems);
  return problems.empty();
}

size_t points_of(const Step& step, const CaseInfo& info) {
  size_t out = 1;
  for (const ParamDef& def : info.params) {
    if (!def.list) continue;
    size_t values = 0;
    for (const std::string& text : values_of(step, info, def.name))
      values += 1 + static_cast<size_t>(std::ranges::count(text, ','));
    out *= std::max<size_t>(1, values);
  }
  return out;
}

}  // namespace

bool has_proof(const JobKey& key) { return key.cycle <= 1 && key.turn == 0; }

std::optional<Said> why_no_fault(const Step& step, const CaseInfo& info) {
  if (step.scope == Scope::rails) return said("proof.rails");
  if (info.fault.planted.empty()) return info.fault.why_not;
  for (const Blind& blind : info.fault.blind) {
    if (!is_blind(blind, step, info)) continue;
    return blind.why.empty() ? std::nullopt : std::optional(blind.why);
  }
  return std::nullopt;
}

Step proof_step(const Step& step, const CaseInfo& info) {
  Step out = step;
  out.params[kInject] = {fault_value(info)};
  for (const auto& [name, values] : info.fault.brief) {
    if (is_brief(info, name, values_of(step, info, name), values)) continue;
    GivenParams shorter = out.params;
    shorter[name] = values;
    if (is_possible(info, shorter)) out.params = std::move(shorter);
  }
  return out;
}

double proof_seconds(const Step& step, const CaseInfo& info) {
  return kStartSeconds + info.fault.point_seconds * static_cast<double>(points_of(step, info));
}

std::vector<std::string> proof_params(const CaseInfo* info) {
  std::vector<std::string> out{kInject,   "duration", "iterations", "repetitions",
                               "samples", "steady",   "warm-up"};
  if (info == nullptr) return out;
  for (const auto& [name, values] : info->fault.brief) {
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
  return out;
}

Step proved_step(const Step& step, const std::vector<std::string>& command, const CaseInfo* info) {
  Step out = step;
  const auto options = measuring_options(command, step.case_name);
  if (!options) return out;
  for (const std::string& name : proof_params(info)) {
    if (const auto given = options->find(name); given != options->end())
      out.params[name] = {given->second};
  }
  return out;
}

}  // namespace cb
