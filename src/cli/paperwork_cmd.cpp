// `clusterbench checklist DIR` and `clusterbench issue add|update|list DIR`: record what people add
// to a campaign.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "bench/registry.h"
#include "campaign/load.h"
#include "campaign/paperwork.h"
#include "campaign/signoff.h"
#include "cli/commands.h"
#include "cli/judging.h"
#include "cli/key_options.h"
#include "cli/offers.h"
#include "core/clock.h"
#include "core/sha256.h"
#include "core/suggest.h"
#include "core/text.h"
#include "judge/steps_fit.h"

namespace cb {
namespace {

constexpr const char* kKeyHelp =
    "private Ed25519 key that signs this entry: needed after a signature";

struct ChecklistOptions {
  std::string directory;
  ChecklistEntry entry;
  KeyOptions key;
};

// The person who makes the change, if a key is given.
std::optional<HistorySigner> signer_of(const std::string& directory, const KeyOptions& options,
                                       const std::string& campaign) {
  const auto key = read_key(options);
  if (!key) return std::nullopt;
  refuse_key_inside(directory, options.key);
  return HistorySigner{*key, campaign};
}

ExitCode checklist(const ChecklistOptions& options) {
  const Campaign campaign = load_campaign(options.directory, catalogue());
  if (!options.entry.item.empty()) {
    ChecklistEntry entry = options.entry;
    entry.at = utc_now();
    const auto signer = signer_of(options.directory, options.key, campaign.id);
    set_checklist_entry(options.directory, campaign, entry, signer ? &*signer : nullptr);
  }
  const Paperwork papers = read_paperwork(options.directory);
  size_t open = 0;
  for (const ChecklistItem& item : campaign.profile.checklist) {
    const auto found = std::ranges::find(papers.checklist, item.id, &ChecklistEntry::item);
    const bool done = found != papers.checklist.end();
    open += done ? 0 : 1;
    std::cout << terminal_safe(fmt::format(
                     "{:14} {}  {}{}", done ? found->result : "open", item.id, item.text.en,
                     done ? fmt::format("  ({}, {}{}{})", found->by, found->at.substr(0, 10),
                                        found->remark.empty() ? "" : ": ", found->remark)
                          : ""))
              << '\n';
  }
  std::cout << fmt::format("{} of {} items are open\n", open, campaign.profile.checklist.size());
  return ExitCode::ok;
}

struct IssueOptions {
  std::string directory;
  std::string id;
  std::string retest;
  bool failures = false;
  Issue given;
  KeyOptions key;
};

const std::vector<std::string> kSeverities{"critical", "major", "minor", "note"};

Judgement judged(const Campaign& campaign) {
  return judge_campaign(campaign, campaign.profile, {}, utc_now().substr(0, 10));
}

void print(const Issue& i) {
  std::cout << terminal_safe(fmt::format("{} {:8} {:8} {} {}  {}{}{}", i.id,
                                         i.closed.empty() ? "open" : "closed", i.severity, i.host,
                                         i.part, i.symptom.text(),
                                         i.owner.empty() ? "" : "  → " + i.owner,
                                         i.action.empty() ? "" : ": " + i.action))
            << '\n';
}

ExitCode add_issues(const IssueOptions& options) {
  const Campaign campaign = load_campaign(options.directory, catalogue());
  const std::string state = issues_state(options.directory);
  std::vector<Issue> all = read_paperwork(options.directory).issues;
  std::vector<Issue> fresh;
  if (options.failures) {
    fresh = issues_of_failures(campaign, judged(campaign), all,
                               campaign.ended.empty() ? utc_now() : campaign.ended);
  } else {
    Issue issue = options.given;
    Problems problems;
    if (issue.symptom.empty()) problems.add("--symptom", "is missing: what was found?");
    if (issue.severity.empty()) issue.severity = "major";
    if (std::ranges::find(kSeverities, issue.severity) == kSeverities.end())
      problems.add("--severity", unknown_name(issue.severity, kSeverities));
    if (!problems.empty()) throw UsageError("clusterbench issue add", problems);
    issue.id = next_issue_id(all);
    issue.found = utc_now();
    fresh.push_back(issue);
  }
  all.insert(all.end(), fresh.begin(), fresh.end());
  const auto signer = signer_of(options.directory, options.key, campaign.id);
  write_issues(options.directory, all, utc_now(), signer ? &*signer : nullptr, state);
  for (const Issue& i : fresh) print(i);
  std::cout << fmt::format("{} added, {} in all\n", fresh.size(), all.size());
  return ExitCode::ok;
}

// Closes an issue only by a campaign in which the part passes.
void close_issue(Issue& issue, const Campaign& found_by, const std::string& directory) {
  Campaign retest = load_campaign(directory, catalogue());
  // The re-test is judged by the profile that the part failed, with the same steps: another profile
  // could ask for less.
  if (retest.profile.sha256 != found_by.profile.sha256)
    require_same_steps(retest, found_by.profile, catalogue());
  const Judgement judgement = judge_campaign(retest, found_by.profile, {}, utc_now().substr(0, 10));
  const auto why = retest.id == found_by.id
                       ? std::optional<std::string>("it is the campaign that found it")
                       : why_not_mended(issue, retest, judgement);
  if (why)
    throw UsageError("clusterbench issue update", "--retest",
                     fmt::format("{} does not prove {} mended: {}", directory, issue.id, *why));
  issue.retest = fmt::format(
      "{} {}", retest.id, sha256_hex_of_file(std::filesystem::path(directory) / "MANIFEST.sha256"));
  issue.closed = utc_now();
}

ExitCode update_issue(const IssueOptions& options) {
  const std::string state = issues_state(options.directory);
  std::vector<Issue> all = read_paperwork(options.directory).issues;
  std::vector<std::string> ids;
  for (const Issue& i : all) ids.push_back(i.id);
  const auto found = std::ranges::find(all, options.id, &Issue::id);
  if (found == all.end())
    throw UsageError("clusterbench issue update", "--id", unknown_name(options.id, ids));
  const Issue& given = options.given;
  const auto set = [](std::string& to, const std::string& from) {
    if (!from.empty()) to = from;
  };
  if (!given.severity.empty() &&
      std::ranges::find(kSeverities, given.severity) == kSeverities.end())
    throw UsageError("clusterbench issue update", "--severity",
                     unknown_name(given.severity, kSeverities));
  set(found->severity, given.severity), set(found->owner, given.owner);
  set(found->action, given.action);
  if (!given.symptom.empty()) found->symptom = given.symptom;
  set(found->old_part, given.old_part), set(found->new_part, given.new_part);
  set(found->serial, given.serial), set(found->evidence, given.evidence);
  const Campaign campaign = load_campaign(options.directory, catalogue());
  if (!options.retest.empty()) close_issue(*found, campaign, options.retest);
  const auto signer = signer_of(options.directory, options.key, campaign.id);
  write_issues(options.directory, all, utc_now(), signer ? &*signer : nullptr, state);
  print(*found);
  return ExitCode::ok;
}

ExitCode list_issues(const IssueOptions& options) {
  const std::vector<Issue> all = read_paperwork(options.directory).issues;
  for (const Issue& i : all) print(i);
  std::cout << fmt::format(
      "{} open of {}\n",
      std::ranges::count_if(all, [](const Issue& i) { return i.closed.empty(); }), all.size());
  return ExitCode::ok;
}

void add_fields(CLI::App& sub, Issue& issue) {
  sub.add_option_function<std::string>(
         "--symptom", [&issue](const std::string& text) { issue.symptom = text; }, "what was found")
      ->type_name("TEXT");
  sub.add_option("--evidence", issue.evidence, "file or link that shows it")->type_name("TEXT");
  offer(sub.add_option("--severity", issue.severity, "critical, major, minor, note"), kSeverities)
      ->type_name("WORD");
  sub.add_option("--owner", issue.owner, "who mends it")->type_name("NAME");
  sub.add_option("--action", issue.action, "what is done")->type_name("TEXT");
  sub.add_option("--serial", issue.serial, "serial number")->type_name("SN");
  sub.add_option("--old-part", issue.old_part, "serial number that was taken out")->type_name("SN");
  sub.add_option("--new-part", issue.new_part, "serial number that was put in")->type_name("SN");
}

}  // namespace

void add_checklist_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("checklist", "show and fill in what is checked by hand");
  const auto options = std::make_shared<ChecklistOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Example:\n  clusterbench checklist out/acceptance --item spares --result pass --by 'B. Li' "
      "--remark 'shelf 3'");
  sub->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  sub->add_option("--item", options->entry.item, "the item to set")->type_name("ID");
  offer(sub->add_option("--result", options->entry.result, "pass, fail, not-applicable"),
        {kChecklistResults.begin(), kChecklistResults.end()})
      ->type_name("WORD");
  sub->add_option("--by", options->entry.by, "who checked it")->type_name("NAME");
  sub->add_option("--remark", options->entry.remark, "a remark")->type_name("TEXT");
  add_key_options(*sub, options->key, kKeyHelp);
  sub->callback([&action, options] { action = [options] { return checklist(*options); }; });
}

void add_issue_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("issue", "track what is to be mended");
  const auto options = std::make_shared<IssueOptions>();
  sub->group("Acceptance");
  sub->require_subcommand(1);
  sub->footer(
      "Examples:\n  clusterbench issue add out/acceptance --from-failures\n"
      "  clusterbench issue update out/acceptance --id I-001 --owner vendor --new-part SN123\n"
      "  clusterbench issue update out/acceptance --id I-001 --retest out/retest\n"
      "  clusterbench issue list out/acceptance");
  const auto directory = [&](CLI::App* one) {
    one->add_option("directory", options->directory, "a campaign's directory")
        ->required()
        ->type_name("DIR");
  };
  CLI::App* add = sub->add_subcommand("add", "one by hand, or one for every failing part");
  directory(add);
  add->add_flag("--from-failures", options->failures, "for every failing part without one");
  add->add_option("--host", options->given.host, "where")->type_name("HOST");
  add->add_option("--part", options->given.part, "what")->type_name("PART");
  add->add_option("--criterion", options->given.criterion, "that a re-test must pass")
      ->type_name("ID");
  add_fields(*add, options->given);
  add_key_options(*add, options->key, kKeyHelp);
  CLI::App* update = sub->add_subcommand("update", "owner, action, parts; close by a re-test");
  directory(update);
  update->add_option("--id", options->id, "which")->required()->type_name("ID");
  update->add_option("--retest", options->retest, "a campaign in which it passes: closes the issue")
      ->type_name("DIR");
  add_fields(*update, options->given);
  add_key_options(*update, options->key, kKeyHelp);
  CLI::App* list = sub->add_subcommand("list", "all of them");
  directory(list);
  add->callback([&action, options] { action = [options] { return add_issues(*options); }; });
  update->callback([&action, options] { action = [options] { return update_issue(*options); }; });
  list->callback([&action, options] { action = [options] { return list_issues(*options); }; });
}

}  // namespace cb
