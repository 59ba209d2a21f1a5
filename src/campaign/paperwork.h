#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "campaign/history.h"
#include "judge/handover.h"
#include "judge/verdict.h"

namespace cb {

// Reads checklist.json, issues.json and site.json of a campaign's directory, those that exist.
// Throws UsageError for one that cannot be used. verify_campaign() reads the signatures.
Paperwork read_paperwork(const std::filesystem::path& directory);

// Parses "clusterbench.site/1". Throws UsageError with every problem.
Site parse_site(std::string_view text, const std::string& source);

// Sets the entry of one item (replacing an earlier one) and writes checklist.json. Throws
// UsageError for an item that the profile does not have, or an unknown result.
void set_checklist_entry(const std::filesystem::path& directory, const Campaign& campaign,
                         const ChecklistEntry& entry, const HistorySigner* signer = nullptr);

// New issues for every failing part that no open issue covers. A part gets one issue for all
// criteria that it fails. If more than four parts of a host fail a criterion, they share one issue.
// `at`: the time of the finding.
std::vector<Issue> issues_of_failures(const Campaign& campaign, const Judgement& judgement,
                                      const std::vector<Issue>& known, const std::string& at);

// The state of issues.json (a sha256), as its history says. First settles a change that a kill cut
// off.
std::string issues_state(const std::filesystem::path& directory);

// Writes issues.json as a whole, and what changed into its history. With `state` (issues_state()
// when `issues` was read) it throws UsageError if somebody else has changed them since, whose
// changes would be lost.
void write_issues(const std::filesystem::path& directory, const std::vector<Issue>& issues,
                  const std::string& at, const HistorySigner* signer = nullptr,
                  const std::optional<std::string>& state = std::nullopt);

// "I-007": the first free number.
std::string next_issue_id(const std::vector<Issue>& issues);

// The reason why this campaign does not prove the issue mended: it is not finished, was changed, or
// began before the issue was found; it does not judge the criterion, the host still fails it, or
// the host was not measured. Nothing if it proves it. `judgement` must be by the profile that found
// the issue.
std::optional<std::string> why_not_mended(const Issue& issue, const Campaign& retest,
                                          const Judgement& judgement);

}  // namespace cb
