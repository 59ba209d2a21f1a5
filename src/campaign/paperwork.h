#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "campaign/history.h"
#include "judge/handover.h"
#include "judge/verdict.h"

namespace cb {

// checklist.json, issues.json and site.json of a campaign's directory, as far as they are there.
// Throws UsageError for one that cannot be used. Signatures are verify_campaign()'s.
Paperwork read_paperwork(const std::filesystem::path& directory);

// "clusterbench.site/1". Throws UsageError with every problem.
Site parse_site(std::string_view text, const std::string& source);

// Sets the entry of one item (replacing an earlier one) and writes checklist.json. Throws
// UsageError: an item that the profile does not have, a result that is none.
void set_checklist_entry(const std::filesystem::path& directory, const Campaign& campaign,
                         const ChecklistEntry& entry, const HistorySigner* signer = nullptr);

// Issues for every failing part that none stands for yet: one per criterion and part, or one per
// host where more than four of its parts fail alike. `at`: now.
std::vector<Issue> issues_of_failures(const Campaign& campaign, const Judgement& judgement,
                                      const std::vector<Issue>& known, const std::string& at);

// What issues.json is now, as its history says; a change that a kill cut off is ended first.
std::string issues_state(const std::filesystem::path& directory);

// Writes issues.json as a whole, and what changed into its history. With the state that `issues`
// were read in it refuses where somebody else has changed them since, whose changes would be lost.
void write_issues(const std::filesystem::path& directory, const std::vector<Issue>& issues,
                  const std::string& at, const HistorySigner* signer = nullptr,
                  const std::optional<std::string>& state = std::nullopt);

// "I-007": the first number that is free.
std::string next_issue_id(const std::vector<Issue>& issues);

// Why this campaign does not prove the issue mended: it is not finished, was changed, or began
// before the issue was found; its criterion is not judged there, still fails for that part, or its
// host was not measured; nothing if it does. The judgement is by the profile that found the issue.
std::optional<std::string> why_not_mended(const Issue& issue, const Campaign& retest,
                                          const Judgement& judgement);

}  // namespace cb
