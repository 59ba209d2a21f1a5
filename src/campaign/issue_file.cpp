#include "campaign/issue_file.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/waivers_match.h"
#include "campaign/history.h"
#include "core/json_read.h"
#include "core/suggest.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 4> kSeverities{"fatal", "serious", "minor", "notice"};

constexpr size_t kMostIssues = 20;  // of one criterion

struct Field {
  const char* name;
  std::string Issue::*member;
};
constexpr std::array<Field, 13> kFields{{{"found-at", &Issue::found_at},
                                         {"host", &Issue::host},
                                         {"serial", &Issue::serial},
                                         {"symptom", &Issue::symptom},
                                         {"evidence", &Issue::evidence},
                                         {"severity", &Issue::severity},
                                         {"owner", &Issue::owner},
                                         {"action", &Issue::action},
                                         {"part", &Issue::part},
                                         {"old-serial", &Issue::old_serial},
                                         {"new-serial", &Issue::new_serial},
                                         {"criterion", &Issue::criterion},
                                         {"entity", &Issue::entity}}};

void set_fields(Issue& issue, const IssueFields& fields) {
  for (const auto& [name, value] : fields) {
    const auto field = std::ranges::find(kFields, name, &Field::name);
    if (field == kFields.end()) throw Error(fmt::format("{} is no field of an issue", name));
    issue.*(field->member) = value;
  }
}

Retest retest_of(const json& j) {
  return {text_at(j, "campaign"), text_at(j, "started"), text_at(j, "host"), text_at(j, "evidence"),
          text_at(j, "sha256")};
}

void apply(std::vector<Issue>& issues, const json& event) {
  const std::string id = text_at(event, "id");
  const std::string what = text_at(event, "event");
  auto issue = std::ranges::find(issues, id, &Issue::id);
  if (what == "add") {
    if (issue != issues.end()) throw Error(fmt::format("{} was added twice", id));
    issue = issues.insert(issues.end(), Issue{.id = id});
  } else if (issue == issues.end()) {
    throw Error(fmt::format("{} was never added", id));
  }
  if (what == "add" || what == "update") {
    set_fields(*issue, texts_at(event, "fields"));
  } else if (what == "close") {
    issue->retest = retest_of(object_at(event, "retest"));
    issue->closed_at = text_at(event, "at");
  } else if (what == "reopen") {
    issue->closed_at.clear();
    issue->evidence = text_at(event, "reason");
  } else {
    throw Error(fmt::format("{} is no event of an issue", what));
  }
}

// "2026-11-20" or the whole "2026-11-20T14:03:12Z".
bool is_time(const std::string& text) {
  if (text.size() == 10) return is_date(text);
  return text.size() == 20 && is_date(text.substr(0, 10)) && text[10] == 'T' && text[19] == 'Z';
}

void check_fields(const IssueFields& fields, const std::string& now, Problems& problems) {
  const auto value = [&](const char* name) {
    const auto found = fields.find(name);
    return found == fields.end() ? nullptr : &found->second;
  };
  if (const auto* severity = value("severity");
      severity != nullptr && std::ranges::find(kSeverities, *severity) == kSeverities.end())
    problems.add("--severity", "is none of fatal, serious, minor, notice");
  if (const auto* found_at = value("found-at"); found_at != nullptr) {
    if (!is_time(*found_at))
      problems.add("--found-at", fmt::format("{} is no time YYYY-MM-DD[THH:MM:SSZ]", *found_at));
    else if (found_at->substr(0, 10) > now.substr(0, 10))
      problems.add("--found-at", fmt::format("{} is to come", *found_at));
  }
}

void append(const CampaignPaths& paths, const char* event, const std::string& id,
            const std::string& now, json more) {
  more["event"] = event;
  more["id"] = id;
  more["at"] = now;
  append_history(paths.issues(), std::move(more));
}

std::string new_id(const std::vector<Issue>& issues) {
  return fmt::format("ISS-{:03}", issues.size() + 1);
}

const Issue& issue_of(const std::vector<Issue>& issues, const std::string& id) {
  const auto found = std::ranges::find(issues, id, &Issue::id);
  if (found != issues.end()) return *found;
  std::vector<std::string> known;
  for (const Issue& issue : issues) known.push_back(issue.id);
  throw UsageError("issue", "ID",
                   known.empty() ? "there are no issues yet: issue DIR add, or issue DIR import"
                                 : unknown_name(id, known));
}

void require_open(const Issue& issue, bool open) {
  if (issue.open() == open) return;
  throw UsageError(
      "issue", issue.id,
      open ? fmt::format("was closed at {}: reopen it first", issue.closed_at) : "is open already");
}

// The serial number of a host's chassis, where the inventory has it.
std::string serial_of(const Campaign& campaign, const std::string& host) {
  for (const HostInventory& inventory : campaign.inventories) {
    if (inventory.host == host) return text_of(inventory.find("system"), "serial").value_or("");
  }
  return "";
}

// What one failing entity, or one thing that was not measured, is as an issue.
IssueFields fields_of(const Campaign& campaign, const CriterionVerdict& v, const Entity& entity,
                      const std::vector<Message>& why) {
  const Criterion& c = *v.criterion;
  const bool cluster = entity.host.empty();
  return {{"criterion", c.id},
          {"entity", cluster && entity.kind.empty() ? "" : entity_name(entity)},
          {"host", entity.host},
          {"serial", serial_of(campaign, entity.host)},
          {"severity", v.state == State::fail ? "serious" : "minor"},
          {"symptom", c.title.en.empty() ? c.id : c.title.en},
          {"evidence", why.empty() ? v.reason : say_all(Lang::en, why)}};
}

// A criterion's issues: one for each failing entity, or for each host that was not measured.
std::vector<IssueFields> issues_of(const Campaign& campaign, const CriterionVerdict& v) {
  std::vector<IssueFields> out;
  if (v.state == State::fail) {
    for (const Finding& f : v.failing)
      out.push_back(fields_of(campaign, v, f.entity, failure_messages(f)));
  } else if (v.state == State::incomplete) {
    std::map<std::string, std::vector<Message>> by_host;
    for (const Gap& gap : v.gaps) by_host[gap.host].push_back(gap.what);
    for (const auto& [host, why] : by_host)
      out.push_back(
          fields_of(campaign, v, {.host = host, .kind = host.empty() ? "" : "host"}, why));
  }
  // What fails everywhere has one cause: one issue, whose evidence counts them.
  if (out.size() > kMostIssues) out.clear();
  if (out.empty()) out.push_back(fields_of(campaign, v, v.worst.value_or(Entity{}), {}));
  return out;
}

bool is_named(const std::vector<Issue>& issues, const IssueFields& fields) {
  return std::ranges::any_of(issues, [&](const Issue& issue) {
    return issue.open() && issue.criterion == fields.at("criterion") &&
           issue.entity == fields.at("entity");
  });
}

}  // namespace

std::vector<Issue> read_issues(const CampaignPaths& paths) {
  std::vector<Issue> out;
  size_t line = 0;
  for (const json& event : read_history(paths.issues())) {
    ++line;
    try {
      apply(out, event);
    } catch (const std::exception& e) {
      throw UsageError(paths.issues().string(), fmt::format("line {}", line), reading_problem(e));
    }
  }
  return out;
}

std::string add_issue(const CampaignPaths& paths, const IssueFields& fields,
                      const std::string& now) {
  Problems problems;
  for (const char* needed : {"symptom", "severity"}) {
    if (!fields.contains(needed) || fields.at(needed).empty())
      problems.add(fmt::format("--{}", needed), "is missing");
  }
  check_fields(fields, now, problems);
  if (!problems.empty()) throw UsageError("issue add", problems);
  const CampaignLock lock(paths);
  IssueFields all = fields;
  all.try_emplace("found-at", now);
  const std::string id = new_id(read_issues(paths));
  append(paths, "add", id, now, {{"fields", all}});
  return id;
}

void update_issue(const CampaignPaths& paths, const std::string& id, const IssueFields& fields,
                  const std::string& now) {
  Problems problems;
  check_fields(fields, now, problems);
  if (fields.empty()) problems.add("", "nothing is to be changed: see --help for the fields");
  if (!problems.empty()) throw UsageError("issue update", problems);
  const CampaignLock lock(paths);
  const std::vector<Issue> issues = read_issues(paths);
  require_open(issue_of(issues, id), true);
  append(paths, "update", id, now, {{"fields", fields}});
}

void close_issue(const CampaignPaths& paths, const std::string& id, const Retest& retest,
                 const std::string& now) {
  const CampaignLock lock(paths);
  const std::vector<Issue> issues = read_issues(paths);
  require_open(issue_of(issues, id), true);
  append(paths, "close", id, now,
         {{"retest",
           {{"campaign", retest.campaign},
            {"started", retest.started},
            {"host", retest.host},
            {"evidence", retest.evidence},
            {"sha256", retest.sha256}}}});
}

void reopen_issue(const CampaignPaths& paths, const std::string& id, const std::string& reason,
                  const std::string& now) {
  if (reason.empty()) throw UsageError("issue reopen", "--evidence", "is missing: what came back?");
  const CampaignLock lock(paths);
  const std::vector<Issue> issues = read_issues(paths);
  require_open(issue_of(issues, id), false);
  append(paths, "reopen", id, now, {{"reason", reason}});
}

std::vector<std::string> import_issues(const CampaignPaths& paths, const Campaign& campaign,
                                       const Judgement& judgement, const std::string& now) {
  std::vector<std::string> out;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (v.state != State::fail && v.state != State::incomplete) continue;
    for (IssueFields& fields : issues_of(campaign, v)) {
      if (is_named(read_issues(paths), fields)) continue;
      fields["found-at"] = campaign.ended.empty() ? now : campaign.ended;
      out.push_back(add_issue(paths, fields, now));
    }
  }
  return out;
}

}  // namespace cb
