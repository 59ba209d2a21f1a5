// One subcommand per case name of the registry: options from the case's parameters, then one run of
// the case.
#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "bench/harness/job.h"
#include "bench/registry.h"
#include "cli/commands.h"
#include "cli/measure.h"
#include "cli/offers.h"
#include "core/document_lines.h"
#include "core/file.h"
#include "core/output_files.h"
#include "core/suggest.h"
#include "core/units.h"

namespace cb {
namespace {

// What CLI11 fills in; parsed and validated by resolve_params(), so that every problem is reported
// at once.
struct Given {
  std::map<std::string, std::vector<std::string>> values;
  std::map<std::string, int> flags;  // 1 given, -1 given as --no-…
  MeasureOptions common;
};

// Once, below the options.
const std::string kSizeHelp =
    "SIZE: K, M, G and T are binary, with or without iB or B: 1G = 1GiB = 1GB = 2^30 bytes.\n"
    "Rates in tables are decimal: 1 GB/s = 10^9 bytes per second.\n";

std::string option_help(const ParamDef& def) {
  std::string out = def.help;
  if (!def.choices.empty()) {
    out += " (";
    for (const std::string& c : def.choices) out += (out.back() == '(' ? "" : " ") + c;
    out += ")";
  }
  if (!def.default_text.empty()) out += fmt::format(" [{}]", def.default_text);
  return out;
}

void add_param(CLI::App& sub, const ParamDef& def, Given& given) {
  if (def.type == ParamType::flag) {
    int& flag = given.flags[def.name];
    sub.add_flag(fmt::format("--{0},!--no-{0}", def.name), flag, option_help(def));
    return;
  }
  static const std::map<ParamType, std::string> type_names{
      {ParamType::integer, "N"}, {ParamType::number, "X"},      {ParamType::text, "TEXT"},
      {ParamType::size, "SIZE"}, {ParamType::duration, "TIME"}, {ParamType::choice, "NAME"}};
  offer(sub.add_option("--" + def.name, given.values[def.name], option_help(def)), def.choices)
      ->type_name(type_names.at(def.type) + (def.list ? ",…" : ""))
      ->expected(1)
      ->take_all();
}

// A device gives an option that another has too its own words, and maybe its own meaning.
void add_meaning(CLI::Option& known, const ParamDef& def, const std::string& device) {
  offer(&known, def.choices);
  if (known.get_description() != option_help(def))
    known.description(fmt::format("{}; {}: {}", known.get_description(), device, option_help(def)));
}

GivenParams given_params(const Given& given) {
  GivenParams out;
  for (const auto& [name, values] : given.values) {
    if (!values.empty()) out[name] = values;
  }
  for (const auto& [name, flag] : given.flags) {
    if (flag != 0) out[name] = {flag > 0 ? "true" : "false"};
  }
  return out;
}

// Options that nobody declared: what starts with a dash is an unknown option, what follows it its
// value.
void report_extras(const std::vector<std::string>& extras, const CLI::App& sub,
                   Problems& problems) {
  std::vector<std::string> known;
  for (const CLI::Option* option : sub.get_options()) known.push_back(option->get_name());
  bool after_option = false;
  for (const std::string& extra : extras) {
    if (extra.starts_with('-')) {
      const std::string name = extra.substr(0, extra.find('='));
      problems.add(name, unknown_option(name, known));
    } else if (!after_option) {
      problems.add(extra, extra == "help" ? "is not expected here, did you mean --help?"
                                          : "is not expected here");
    }
    after_option = extra.starts_with('-') && extra.find('=') == std::string::npos;
  }
}

const Case& select_case(const std::string& name, const GivenParams& given, Problems& problems) {
  const auto device = given.find("device");
  if (device != given.end()) {
    if (const Case* found = find_case(name, device->second.back())) return *found;
    std::vector<std::string> devices;
    for (const Case& c : all_cases()) {
      if (c.info.name == name) devices.push_back(c.info.device);
    }
    problems.add("--device", unknown_name(device->second.back(), devices));
  }
  return *find_case(name);
}

void check_common(const MeasureOptions& common, Problems& problems) {
  const auto check_time = [&](const char* where, const std::string& text) {
    const auto seconds = parse_duration(text);
    if (!seconds || *seconds <= 0)
      problems.add(where, fmt::format("'{}' is not a duration such as 90s or 10m", text));
  };
  check_time("--deadline", common.deadline);
  check_time("--stall", common.stall);
  if (!common.token.empty() && (!is_document_token(common.token) || common.json.empty()))
    problems.add("--return", "is given by clusterbench run, with --json: leave it out");
  // In a launched job only rank 0's host writes: measure() looks there.
  if (common.json.empty() || !common.token.empty() || launched_job()) return;
  if (const auto why = why_not_writable(common.json))
    problems.add("--json", fmt::format("{} cannot be written: {}", common.json, *why));
}

// The document may replace no file that a parameter names, nor one of a campaign. `run` itself has
// its jobs write into its campaign, under a name that it gives another one afterwards.
void check_document_place(const MeasureOptions& common, const Params& params, Problems& problems) {
  if (common.json.empty() || !common.token.empty() || common.json.ends_with(".partial")) return;
  std::vector<NamedFile> named;
  for (const auto& [name, values] : params.all()) {
    for (const ParamValue& value : values) {
      const auto* text = std::get_if<std::string>(&value);
      if (text != nullptr) named.push_back({"--" + name, *text});
    }
  }
  refuse_equal_files({{"--json", common.json}}, named, problems);
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(common.json, ignored)) return;
  if (const auto campaign = campaign_around(common.json))
    problems.add("--json", fmt::format("{} is a file of the campaign {}: name another file",
                                       common.json, campaign->string()));
}

ExitCode run_subcommand(const CLI::App& sub, const std::string& name, const Given& given) {
  Problems problems;
  report_extras(sub.remaining(), sub, problems);
  GivenParams params = given_params(given);
  const Case& c = select_case(name, params, problems);
  if (!problems.empty()) params.erase("device");
  const Params resolved = resolve_params(c.info.params, params, problems);
  if (problems.empty() && c.check) c.check(resolved, problems);
  check_document_place(given.common, resolved, problems);
  check_common(given.common, problems);
  if (!problems.empty()) throw UsageError("clusterbench " + name, problems);
  return measure(c, resolved, given.common);
}

void add_common(CLI::App& sub, MeasureOptions& common) {
  sub.add_option("--json", common.json,
                 "write the result document to this file, or - for standard output")
      ->type_name("FILE");
  sub.add_option("--return", common.token,
                 "of run: the document goes to standard output as lines with this token, if the "
                 "file's directory is not that of the campaign")
      ->group("")
      ->type_name("TOKEN");
  sub.add_option("--deadline", common.deadline, "end the whole measurement after this time [1h]")
      ->type_name("TIME");
  sub.add_option("--stall", common.stall, "end it when nothing has moved for this long [2m]")
      ->type_name("TIME");
  sub.add_option("--sysroot", common.sysroot, "read /sys, /proc and /etc below this directory")
      ->type_name("DIR");
  sub.add_flag("--redact", common.redact,
               "record no value of the command line and of the environment");
  sub.add_flag("--quiet", common.quiet, "no progress and no table, only errors");
  sub.add_flag("--no-color", common.no_color, "no colour, also on a terminal");
}

}  // namespace

void add_measure_commands(CLI::App& app, Action& action) {
  std::map<std::string, CLI::App*> subs;
  std::map<std::string, std::shared_ptr<Given>> givens;
  for (const Case& c : all_cases()) {
    const std::string& name = c.info.name;
    if (!subs.contains(name)) {
      CLI::App* sub = app.add_subcommand(name, c.info.summary);
      auto given = std::make_shared<Given>();
      sub->allow_extras();
      sub->group(c.info.hidden ? "" : "Measurements");
      sub->footer(kSizeHelp + ("Example:\n  " + c.info.example));
      add_common(*sub, given->common);
      sub->callback([&action, sub, name, given] {
        action = [sub, name, given] { return run_subcommand(*sub, name, *given); };
      });
      subs[name] = sub;
      givens[name] = given;
    } else {
      subs[name]->description(fmt::format("{}; --device {}: {}", subs[name]->get_description(),
                                          c.info.device, c.info.summary));
    }
    for (const ParamDef& def : c.info.params) {
      CLI::Option* known = subs[name]->get_option_no_throw("--" + def.name);
      if (known == nullptr)
        add_param(*subs[name], def, *givens[name]);
      else
        add_meaning(*known, def, c.info.device);
    }
  }
}

}  // namespace cb
