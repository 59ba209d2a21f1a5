#include "campaign/bind.h"

#include <algorithm>
#include <array>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "campaign/command_line.h"
#include "core/secrets.h"
#include "core/text.h"
#include "judge/verdict_select.h"

namespace cb {
namespace {

using Misfit = std::optional<Said>;

std::string joined(const std::vector<std::string>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

std::string shown(const std::string& text) { return terminal_safe(text); }

Misfit case_misfit(const Step& step, const Document& document) {
  for (const Record& record : document.records) {
    if (record.case_name != step.case_name)
      return said("bind.case", shown(record.case_name), shown(step.case_name));
  }
  return std::nullopt;
}

// True for words that stand for several values; a record has one of these values instead.
bool stands_for_others(const std::vector<std::string>& values) {
  static const std::set<std::string> words{"all", "auto", "any", "both", "default", "0"};
  return std::ranges::any_of(values, [](const std::string& v) { return words.contains(v); });
}

// Adds the parts of lists: a list may be written as one text, "fp64,fp32".
std::vector<std::string> with_parts(std::vector<std::string> values) {
  for (const std::string& value : std::vector<std::string>(values)) {
    if (value.find(',') == std::string::npos) continue;
    std::istringstream parts(value);
    for (std::string part; std::getline(parts, part, ',');) values.push_back(part);
  }
  return values;
}

bool is_param_of(const CaseInfo* info, const std::string& name) {
  return info != nullptr &&
         std::ranges::find(info->params, name, &ParamDef::name) != info->params.end();
}

// It is enough if one record agrees: a case may resolve a parameter otherwise in some records (a
// cached read beside a direct one).
Misfit resolved_misfit(const JobClaim& claim, const Document& document) {
  for (const auto& [name, values] : claim.step.params) {
    if (stands_for_others(values)) continue;
    const GivenParams wanted{{name, with_parts(values)}};
    bool has = false, agrees = false;
    std::string other;
    for (const Record& record : document.records) {
      const auto found = record.params.all().find(name);
      if (found == record.params.all().end() || found->second.empty()) continue;
      has = true;
      agrees = agrees || matches(record.params, wanted);
      other = to_text(found->second.front());
    }
    if (has && !agrees)
      return said("bind.params", shown(name), shown(other), shown(joined(values)));
  }
  return std::nullopt;
}

// Figures whose records name no parameter at all cannot be told from figures of another step. A
// case may leave out some: a sweep to --max-size names the size of each point.
Misfit nameless_misfit(const JobClaim& claim, const Document& document) {
  const auto measured = [](const Record& r) { return !r.metrics.empty(); };
  const auto nameless = [](const Record& r) { return r.params.all().empty(); };
  if (std::ranges::none_of(document.records, measured)) return std::nullopt;
  if (!std::ranges::all_of(document.records, nameless)) return std::nullopt;
  for (const auto& [name, values] : claim.step.params) {
    if (!stands_for_others(values) && is_param_of(claim.info, name))
      return said("bind.no_param", shown(name), shown(joined(values)));
  }
  return std::nullopt;
}

Misfit metric_misfit(const CaseInfo& info, const Metric& metric) {
  const auto def = std::ranges::find(info.metrics, metric.name, &MetricDef::name);
  if (def == info.metrics.end() || metric.unit == def->unit) return std::nullopt;
  return said("bind.unit", shown(metric.name), shown(metric.unit), shown(def->unit));
}

// Limits are in the unit that the case declares.
Misfit unit_misfit(const JobClaim& claim, const Document& document) {
  if (claim.info == nullptr) return std::nullopt;
  for (const Record& record : document.records) {
    for (const Metric& metric : record.metrics) {
      if (auto why = metric_misfit(*claim.info, metric)) return why;
    }
  }
  return std::nullopt;
}

// Figures are of the hosts on which the job ran, as the ranks name them.
Misfit entity_misfit(const Document& document) {
  const std::vector<std::string>& hosts = document.run.hosts;
  for (const Record& record : document.records) {
    for (const Entity& entity : record.entities) {
      if (!entity.host.empty() && std::ranges::find(hosts, entity.host) == hosts.end())
        return said("bind.entity", shown(entity.host), hosts.empty() ? "?" : shown(joined(hosts)));
    }
  }
  return std::nullopt;
}

// The command must have the step's options, letter by letter.
Misfit options_misfit(const Step& step, const std::vector<std::string>& argv, const Said& whose) {
  const auto options = measuring_options(argv, step.case_name);
  if (!options) return said("bind.no_case", whose, shown(step.case_name));
  for (const auto& [name, values] : step.params) {
    const auto found = options->find(name);
    if (found == options->end())
      return said("bind.no_option", whose, shown(name), shown(joined(values)));
    if (found->second == kRedacted) continue;
    if (found->second != joined(values))
      return said("bind.option", whose, shown(name), shown(found->second), shown(joined(values)));
  }
  static const std::set<std::string> own{"dir",  "deadline", "stall", "color",
                                         "json", "redact",   "return"};
  for (const auto& [name, value] : *options) {
    if (!step.params.contains(name) && !own.contains(name))
      return said("bind.extra_option", whose, shown(name), shown(value));
  }
  return std::nullopt;
}

int slots_of(const JobClaim& claim, const std::string& name) {
  const auto found = claim.slots.find(name);
  return found == claim.slots.end() ? 0 : found->second;
}

Misfit hosts_misfit(const JobClaim& claim, const std::vector<std::string>& launched) {
  for (const std::string& host : launched) {
    if (slots_of(claim, host) == 0) return said("bind.no_host", shown(host));
    if (!claim.key.host.empty() && host != claim.key.host)
      return said("bind.other_host", shown(host), shown(claim.key.host));
    if (!claim.key.places.empty() && std::ranges::find(claim.members, host) == claim.members.end())
      return said("bind.other_host", shown(host), shown(claim.key.group));
  }
  return std::nullopt;
}

int expected_ranks(const JobClaim& claim, const Step& step,
                   const std::vector<std::string>& launched) {
  int out = 0;
  for (const std::string& host : launched)
    out += step.ranks_per_host == 0 ? slots_of(claim, host) : step.ranks_per_host;
  return out;
}

Misfit run_misfit(const JobClaim& claim, const Document& document) {
  const RunInfo& run = document.run;
  const Launcher launcher = claim.campaign.launch.launcher;
  // A single rank needs nothing from its launcher, and may not see it.
  if (run.ranks > 1 && run.launcher != launcher_name(launcher))
    return said("bind.launcher", shown(run.launcher), launcher_name(launcher));
  if (launcher != Launcher::none) return std::nullopt;
  const std::string& host = claim.campaign.hosts.front().name;
  if (run.hosts != std::vector<std::string>{host})
    return said("bind.other_host", shown(joined(run.hosts)), shown(host));
  if (run.ranks != 1) return said("bind.ranks", run.ranks, 1);
  return std::nullopt;
}

Misfit fingerprint_misfit(const JobClaim& claim, const Step& step) {
  Command command{.argv = placeless(claim.start->command, step.case_name, claim.record)};
  if (claim.campaign.launch.launcher != Launcher::mpirun)
    command.environment = step_environment(step);
  if (fingerprint(command, claim.tool, claim.campaign.profile.sha256) == claim.start->fingerprint)
    return std::nullopt;
  return said("bind.fingerprint");
}

Misfit variables_misfit(const JobClaim& claim, const Step& step) {
  if (claim.campaign.launch.launcher != Launcher::mpirun) return std::nullopt;
  const std::vector<std::string>& argv = claim.start->command;
  for (const auto& [name, value] : step.env) {
    if (!sets_variable(argv, name, value)) return said("bind.env", shown(name), shown(value));
  }
  return std::nullopt;
}

std::string tool_text(const ToolInfo& tool) {
  return shown(fmt::format("{} {}{}", tool.version, tool.commit, tool.dirty ? " dirty" : ""));
}

// Hosts may have programs of their own, and one of them an old one.
Misfit tool_misfit(const JobClaim& claim, const Document& document) {
  const ToolInfo &own = document.tool, &run = claim.tool;
  if (own.version == run.version && own.commit == run.commit && own.dirty == run.dirty)
    return std::nullopt;
  return said("bind.tool", tool_text(own), tool_text(run));
}

Misfit command_misfit(const JobClaim& claim, const Step& step, const Document& document) {
  if (claim.start == nullptr) return said("bind.not_begun");
  if (auto why = tool_misfit(claim, document)) return why;
  const std::vector<std::string> launched =
      launched_hosts(claim.start->command, claim.campaign.launch.launcher);
  if (auto why = hosts_misfit(claim, launched)) return why;
  const int ranks = expected_ranks(claim, step, launched);
  if (!launched.empty() && document.run.ranks != ranks)
    return said("bind.ranks", document.run.ranks, ranks);
  if (auto why = options_misfit(step, claim.start->command, said("bind.journal_command")))
    return why;
  if (auto why = variables_misfit(claim, step)) return why;
  return fingerprint_misfit(claim, step);
}

}  // namespace

SlotsOfHosts slots_of_hosts(const CampaignFile& campaign) {
  SlotsOfHosts out;
  for (const HostSlots& host : campaign.hosts) out.emplace(host.name, host.slots);
  for (const HostSlots& host : campaign.spares) out.emplace(host.name, host.slots);
  return out;
}

std::optional<Said> misfit(const JobClaim& claim, const Document& document) {
  const Step& step = claim.step;
  if (auto why = case_misfit(step, document)) return why;
  if (auto why = resolved_misfit(claim, document)) return why;
  if (auto why = unit_misfit(claim, document)) return why;
  if (auto why = options_misfit(step, document.run.argv, said("bind.command"))) return why;
  if (auto why = run_misfit(claim, document)) return why;
  if (claim.campaign.chained) {
    if (auto why = command_misfit(claim, step, document)) return why;
  }
  if (auto why = nameless_misfit(claim, document)) return why;
  return entity_misfit(document);
}

}  // namespace cb
