// `clusterbench issue DIR …`: the issue tracking table of a campaign.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/retest.h"
#include "campaign/issue_file.h"
#include "campaign/load.h"
#include "cli/commands.h"
#include "cli/gate_cmd_lines.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/json_text.h"
#include "core/sha256.h"
#include "core/text.h"

namespace cb {
namespace {

struct IssueOptions {
  std::string directory;
  std::string id;
  std::string waivers;
  std::string retest;
  bool close = false;
  bool reopen = false;
  bool all = false;
  std::string json;
  std::map<std::string, std::shared_ptr<std::string>> values;  // by field, as typed

  IssueFields given(const CLI::App& sub) const {
    IssueFields out;
    for (const auto& [name, value] : values) {
      if (sub.count("--" + name) > 0) out[name] = *value;
    }
    return out;
  }
};

using Options = std::shared_ptr<IssueOptions>;

CampaignPaths paths_of(const IssueOptions& options) {
  const CampaignPaths paths{options.directory};
  if (!std::filesystem::exists(paths.campaign()))
    throw UsageError(options.directory, "", "is not a campaign directory: it has no campaign.json");
  return paths;
}

void print(const std::string& line) { std::cout << terminal_safe(line) << '\n'; }

ExitCode add(const IssueOptions& options, const IssueFields& fields) {
  print(add_issue(paths_of(options), fields, utc_now()) + " added");
  return ExitCode::ok;
}

ExitCode import_failures(const IssueOptions& options) {
  const Campaign campaign = load_campaign(options.directory);
  const std::vector<Waiver> waivers =
      options.waivers.empty() ? std::vector<Waiver>()
                              : parse_waivers(read_file(options.waivers), options.waivers);
  const Judgement judgement = judge(campaign, campaign.profile, waivers, today_utc());
  const auto ids = import_issues(paths_of(options), campaign, judgement, utc_now());
  for (const std::string& id : ids) print(id + " added");
  if (ids.empty()) print("nothing fails that no open issue names");
  return ExitCode::ok;
}

// A re-test is a campaign of its own, judged by the profile that the issue failed.
ExitCode close(const IssueOptions& options) {
  const CampaignPaths paths = paths_of(options);
  if (options.retest.empty())
    throw UsageError("clusterbench issue", "--retest",
                     "is missing: an issue is closed by a campaign measured after the repair");
  const Campaign campaign = load_campaign(options.directory);
  for (const Issue& issue : read_issues(paths)) {
    if (issue.id != options.id) continue;
    const Campaign again = load_campaign(options.retest);
    auto found = again.id == campaign.id
                     ? NoRetest{"the campaign that found it is no re-test of it"}
                     : judge_retest(issue, campaign.profile, again, today_utc());
    if (const auto* no = std::get_if<NoRetest>(&found)) {
      print(fmt::format("{} stays open: {}", issue.id, no->why));
      return ExitCode::not_accepted;
    }
    auto& retest = std::get<Retest>(found);
    retest.sha256 = sha256_hex_of_file(CampaignPaths{options.retest}.manifest());
    close_issue(paths, issue.id, retest, utc_now());
    print(fmt::format("{} closed: {}", issue.id, retest.evidence));
    return ExitCode::ok;
  }
  update_issue(paths, options.id, {{"action", ""}}, utc_now());  // says that there is none
  return ExitCode::usage;
}

ExitCode update(const IssueOptions& options, const IssueFields& fields) {
  if (options.close && options.reopen)
    throw UsageError("clusterbench issue", "--close", "and --reopen exclude each other");
  const CampaignPaths paths = paths_of(options);
  if (options.reopen) {
    const auto reason = fields.find("evidence");
    reopen_issue(paths, options.id, reason == fields.end() ? "" : reason->second, utc_now());
    print(options.id + " is open again");
    return ExitCode::ok;
  }
  if (!fields.empty() || !options.close) {
    update_issue(paths, options.id, fields, utc_now());
    print(options.id + " changed");
  }
  return options.close ? close(options) : ExitCode::ok;
}

nlohmann::json to_json(const Issue& i) {
  nlohmann::json out = {{"id", i.id},
                        {"found_at", i.found_at},
                        {"host", i.host},
                        {"serial", i.serial},
                        {"symptom", i.symptom},
                        {"evidence", i.evidence},
                        {"severity", i.severity},
                        {"owner", i.owner},
                        {"action", i.action},
                        {"part", i.part},
                        {"old_serial", i.old_serial},
                        {"new_serial", i.new_serial},
                        {"criterion", i.criterion},
                        {"entity", i.entity},
                        {"state", i.open() ? "open" : "closed"}};
  if (!i.open()) out["closed_at"] = i.closed_at;
  if (i.retest)
    out["retest"] = {{"campaign", i.retest->campaign},
                     {"started", i.retest->started},
                     {"evidence", i.retest->evidence},
                     {"manifest_sha256", i.retest->sha256}};
  return out;
}

ExitCode list(const IssueOptions& options) {
  const std::vector<Issue> issues = read_issues(paths_of(options));
  if (!options.json.empty()) {
    nlohmann::json out = {{"schema", "clusterbench.issues/1"}, {"issues", nlohmann::json::array()}};
    for (const Issue& issue : issues) out["issues"].push_back(to_json(issue));
    write_file_atomically(options.json, dump_json(out));
  }
  std::vector<std::vector<std::string>> rows{
      {"id", "state", "severity", "host", "symptom", "owner", "found"}};
  for (const Issue& i : issues) {
    if (!i.open() && !options.all) continue;
    std::vector<std::string> row{
        i.id, i.open() ? "open" : "closed", i.severity, i.host, i.symptom, i.owner, i.found_at};
    for (std::string& cell : row) cell = terminal_safe(cell);
    rows.push_back(std::move(row));
  }
  if (rows.size() > 1)
    std::cout << text_table(rows, std::vector<bool>(rows.front().size(), false));
  else
    print(issues.empty() ? "there are no issues" : "all issues are closed (--all shows them)");
  return ExitCode::ok;
}

void add_fields(CLI::App& sub, IssueOptions& options) {
  const auto field = [&](const char* name, const char* text, const char* type) {
    auto& value = options.values[name];
    if (!value) value = std::make_shared<std::string>();
    sub.add_option(std::string("--") + name, *value, text)->type_name(type);
  };
  field("host", "host that it is about", "HOST");
  field("serial", "serial number of the host or part", "SN");
  field("symptom", "what is seen", "TEXT");
  field("evidence", "what shows it: a record, a log, a figure", "TEXT");
  field("severity", "fatal, serious, minor, notice", "WORD");
  field("owner", "who must act", "NAME");
  field("action", "what was or will be done", "TEXT");
  field("part", "the part that was replaced", "TEXT");
  field("old-serial", "serial number of the part taken out", "SN");
  field("new-serial", "serial number of the part put in", "SN");
  field("found-at", "when it was found; default now", "YYYY-MM-DD");
}

void add_update(CLI::App& sub, const Options& options, Action& action) {
  CLI::App* update_sub = sub.add_subcommand("update", "change, close or reopen an issue");
  update_sub->add_option("id", options->id, "its id")->required()->type_name("ID");
  add_fields(*update_sub, *options);
  update_sub->add_flag("--close", options->close, "close it; needs a re-test that passes");
  update_sub->add_option("--retest", options->retest, "campaign measured after the repair")
      ->type_name("DIR");
  update_sub->add_flag("--reopen", options->reopen, "open it again; --evidence says why");
  update_sub->callback([&action, options, update_sub] {
    action = [options, fields = options->given(*update_sub)] { return update(*options, fields); };
  });
}

}  // namespace

void add_issue_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("issue", "the issue tracking table of a campaign");
  const auto options = std::make_shared<IssueOptions>();
  sub->group("Acceptance");
  sub->require_subcommand(1);
  sub->footer(
      "Exit code of update --close: 0 closed, 1 the re-test does not pass.\n"
      "Examples:\n"
      "  clusterbench issue out/acceptance import\n"
      "  clusterbench issue out/acceptance update ISS-001 --owner 'A. Wang' --part GPU \\\n"
      "      --old-serial 1320 --new-serial 1544\n"
      "  clusterbench issue out/acceptance update ISS-001 --close --retest out/retest-node07\n");
  sub->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  CLI::App* add_sub = sub->add_subcommand("add", "add an issue");
  add_fields(*add_sub, *options);
  add_sub->callback([&action, options, add_sub] {
    action = [options, fields = options->given(*add_sub)] { return add(*options, fields); };
  });
  add_update(*sub, options, action);
  CLI::App* list_sub = sub->add_subcommand("list", "print the open issues");
  list_sub->add_flag("--all", options->all, "closed ones as well");
  list_sub->add_option("--json", options->json, "write all of them for machines")
      ->type_name("FILE");
  list_sub->callback([&action, options] { action = [options] { return list(*options); }; });
  CLI::App* import_sub =
      sub->add_subcommand("import", "add an issue for everything that fails or was not measured");
  import_sub->add_option("--waivers", options->waivers, "what is waived needs no issue")
      ->type_name("FILE");
  import_sub->callback(
      [&action, options] { action = [options] { return import_failures(*options); }; });
}

}  // namespace cb
