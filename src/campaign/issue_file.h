#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "analysis/issues.h"
#include "analysis/verdict.h"
#include "campaign/directory.h"

// issues.jsonl: every change of an issue as an event, never taken back; an issue is what its events
// add up to.
namespace cb {

// As they stand now, by id. Throws UsageError if the file is broken.
std::vector<Issue> read_issues(const CampaignPaths& paths);

// Fields by the names that users type: host, serial, symptom, evidence, severity, owner, action,
// part, old-serial, new-serial, found-at; also criterion and entity for imported ones.
using IssueFields = std::map<std::string, std::string>;

// Adds an issue found at `now` unless found-at is given, and returns its id. Throws UsageError with
// every problem: no symptom, no severity, an unknown severity, a time that is none.
std::string add_issue(const CampaignPaths& paths, const IssueFields& fields,
                      const std::string& now);

// Changes fields of an open issue. Throws UsageError: no such issue, a closed one, a bad value.
void update_issue(const CampaignPaths& paths, const std::string& id, const IssueFields& fields,
                  const std::string& now);

// Closes an issue with the re-test that passed.
void close_issue(const CampaignPaths& paths, const std::string& id, const Retest& retest,
                 const std::string& now);

// Opens a closed issue again, with the reason as its evidence.
void reopen_issue(const CampaignPaths& paths, const std::string& id, const std::string& reason,
                  const std::string& now);

// Adds an issue for every entity that fails and every host that was not measured and that no open
// issue names yet (a single one where a criterion has more than 20 of them); returns their ids.
std::vector<std::string> import_issues(const CampaignPaths& paths, const Campaign& campaign,
                                       const Judgement& judgement, const std::string& now);

}  // namespace cb
