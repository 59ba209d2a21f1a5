#include "campaign/paperwork.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <sstream>
#include <tuple>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "campaign/directory.h"
#include "campaign/history.h"
#include "core/file.h"
#include "core/json/json_read.h"
#include "core/json/json_text.h"
#include "core/json/said_json.h"
#include "core/suggest.h"
#include "core/units.h"
#include "judge/verdict_hosts.h"

namespace cb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kChecklist = CampaignPaths::kChecklist;
constexpr const char* kIssues = CampaignPaths::kIssues;
constexpr const char* kSite = "site.json";
constexpr size_t kPartsOfOneIssue = 4;

json issue_json(const Issue& i) {
  json out{{"id", i.id},
           {"found", i.found},
           {"host", i.host},
           {"part", i.part},
           {"serial", i.serial},
           {"symptom", i.symptom.text()},
           {"evidence", i.evidence},
           {"severity", i.severity},
           {"owner", i.owner},
           {"action", i.action},
           {"old_part", i.old_part},
           {"new_part", i.new_part},
           {"criterion", i.criterion},
           {"retest", i.retest},
           {"closed", i.closed}};
  add_say(out, i.symptom);
  return out;
}

// People edit this file: if they changed the text, the stored message no longer counts.
Said symptom_in(const json& j) {
  const std::string text = text_at(j, "symptom");
  if (!j.contains("say")) return text;
  Said out(text, message_from_json(object_at(j, "say")));
  return says_its_text(out) ? out : Said(text);
}

Issue issue_of(const json& j) {
  return {.id = text_at(j, "id"),
          .found = text_at(j, "found"),
          .host = text_at(j, "host"),
          .part = text_at(j, "part"),
          .serial = text_at(j, "serial"),
          .symptom = symptom_in(j),
          .evidence = text_at(j, "evidence"),
          .severity = text_at(j, "severity"),
          .owner = text_at(j, "owner"),
          .action = text_at(j, "action"),
          .old_part = text_at(j, "old_part"),
          .new_part = text_at(j, "new_part"),
          .criterion = text_at(j, "criterion"),
          .retest = text_at(j, "retest"),
          .closed = text_at(j, "closed")};
}

ChecklistEntry entry_of(const json& j) {
  return {.item = text_at(j, "item"),
          .result = text_at(j, "result"),
          .by = text_at(j, "by"),
          .at = text_at(j, "at"),
          .remark = text_at(j, "remark")};
}

// The list `key` of one of our own files; empty if there is no file.
template <typename T, typename Read>
std::vector<T> read_list(const fs::path& directory, const char* name, const char* schema,
                         const char* key, Read read) {
  require_history(directory, name);
  const fs::path file = directory / name;
  if (!fs::exists(file)) return {};
  const json j = parse_json(read_file(file), file.string());
  require_schema(j, schema, 1, file.string());
  try {
    return read_each<T>(j, key, read);
  } catch (const std::exception& e) {
    throw UsageError(file.string(), "", reading_problem(e));
  }
}

json entry_json(const ChecklistEntry& e) {
  return {{"item", e.item}, {"result", e.result}, {"by", e.by}, {"at", e.at}, {"remark", e.remark}};
}

// The part's serial number; without one, that of its host's system board.
std::string serial_of(const Campaign& campaign, const Entity& entity) {
  for (const HostInventory& host : campaign.inventories) {
    if (host.host != entity.host) continue;
    for (const Part* part : host.all(entity.kind)) {  // the id of a GPU is its PCI address
      if (part->id != entity.id && text_of(part, "index") != entity.id) continue;
      if (const auto own = text_of(part, "serial")) return *own;
    }
    return text_of(host.find("system"), "serial").value_or("");
  }
  return "";
}

Said symptom_of(const Finding& f) {
  if (!f.detail.empty()) return said_list({f.detail.begin(), f.detail.end()});
  if (!f.value || !f.limit) return {};
  return said(f.limit_is_minimum ? "issue.below" : "issue.above", Quantity{*f.value, f.unit},
              Quantity{*f.limit, f.unit});
}

// "gpu 3", or the number of parts if a host has too many to name.
std::string part_text(const Finding& f, size_t of_host) {
  if (of_host > kPartsOfOneIssue) return fmt::format("{} parts", of_host);
  if (f.entity.kind == "pair" || f.entity.host.empty()) return entity_name(f.entity);
  return f.entity.id.empty() ? f.entity.kind : f.entity.kind + " " + f.entity.id;
}

// Wrong data is critical, whether the criterion judges the check itself or the figure that the
// check took away.
std::string severity_of(const Criterion& criterion, const Finding& f) {
  const bool wrong = !f.value || std::holds_alternative<CheckRule>(criterion.rule);
  return wrong ? "critical" : "major";
}

// The criteria of an issue. If a part fails several, the issue names them all.
std::vector<std::string> criteria_of(const Issue& issue) {
  std::istringstream words(issue.criterion);
  return {std::istream_iterator<std::string>(words), {}};
}

// Makes one issue per part, whatever the part fails: it is mended once. The gravest failure comes
// first.
void add_failure(std::vector<Issue>& issues, Issue issue) {
  const auto same = std::ranges::find_if(
      issues, [&](const Issue& i) { return i.host == issue.host && i.part == issue.part; });
  if (same == issues.end()) {
    issues.push_back(std::move(issue));
    return;
  }
  if (issue.severity == "critical" && same->severity != "critical") std::swap(*same, issue);
  same->criterion += " " + issue.criterion;
  if (!issue.symptom.empty() &&
      same->symptom.text().find(issue.symptom.text()) == std::string::npos)
    same->symptom =
        same->symptom.empty() ? issue.symptom : said_list({same->symptom, issue.symptom});
}

}  // namespace

namespace {

// Known only by the table of contents of its section 7; the text was not at hand.
constexpr std::string_view kKnownStandard = "GB/T 46346-2025";

}  // namespace

Site parse_site(std::string_view text, const std::string& source) {
  const json j = parse_json(text, source);
  require_schema(j, "clusterbench.site", 1, source);
  Site out;
  Problems problems;
  const std::map<std::string, std::string*> fields{
      {"document", &out.document}, {"project", &out.project},   {"contract", &out.contract},
      {"supplier", &out.supplier}, {"customer", &out.customer}, {"supervisor", &out.supervisor},
      {"location", &out.location}, {"scope", &out.scope},       {"version", &out.version},
      {"standard", &out.standard}};
  std::vector<std::string> known{"schema", "clauses"};
  for (const auto& [name, place] : fields) known.push_back(name);
  for (const auto& [key, value] : j.items()) {
    const auto field = fields.find(key);
    if (field != fields.end() && value.is_string())
      *field->second = value.get<std::string>();
    else if (field != fields.end())
      problems.add(key, "is not a text");
    else if (std::find(known.begin(), known.end(), key) == known.end())
      problems.add(key, unknown_name(key, known));
  }
  if (!out.standard.empty() && out.standard != kKnownStandard)
    problems.add("standard", fmt::format("is {}: only the items of {} are known here", out.standard,
                                         kKnownStandard));
  const json clauses = j.value("clauses", json::object());
  if (clauses.is_object()) {
    for (const auto& [name, clause] : clauses.items()) {
      if (clause.is_string())
        out.clauses[name] = clause.get<std::string>();
      else
        problems.add("clauses." + name, "is not a text");
    }
  } else {
    problems.add("clauses", "is not an object");
  }
  if (!problems.empty()) throw UsageError(source, problems);
  return out;
}

Paperwork read_paperwork(const fs::path& directory) {
  Paperwork out;
  out.checklist =
      read_list<ChecklistEntry>(directory, kChecklist, "clusterbench.checklist", "items", entry_of);
  out.issues = read_list<Issue>(directory, kIssues, "clusterbench.issues", "issues", issue_of);
  if (fs::exists(directory / kSite))
    out.site = parse_site(read_file(directory / kSite), (directory / kSite).string());
  return out;
}

void set_checklist_entry(const fs::path& directory, const Campaign& campaign,
                         const ChecklistEntry& entry, const HistorySigner* signer) {
  std::vector<std::string> items;
  for (const ChecklistItem& item : campaign.profile.checklist) items.push_back(item.id);
  Problems problems;
  if (std::find(items.begin(), items.end(), entry.item) == items.end())
    problems.add("--item", unknown_name(entry.item, items));
  const std::vector<std::string> results(kChecklistResults.begin(), kChecklistResults.end());
  if (std::ranges::find(results, entry.result) == results.end())
    problems.add("--result", unknown_name(entry.result, results));
  if (entry.by.empty()) problems.add("--by", "is empty: who checked it?");
  if (!problems.empty()) throw UsageError("checklist", problems);
  const CampaignLock lock({directory});
  settle_interrupted(directory, kChecklist);
  auto list =
      read_list<ChecklistEntry>(directory, kChecklist, "clusterbench.checklist", "items", entry_of);
  std::erase_if(list, [&](const ChecklistEntry& e) { return e.item == entry.item; });
  list.push_back(entry);
  std::stable_sort(list.begin(), list.end(),
                   [](const auto& a, const auto& b) { return a.item < b.item; });
  json out = {{"schema", "clusterbench.checklist/1"}, {"items", json::array()}};
  for (const ChecklistEntry& e : list) out["items"].push_back(entry_json(e));
  write_with_history(directory, kChecklist, dump_json(out), entry_json(entry), entry.at, signer);
}

std::vector<Issue> issues_of_failures(const Campaign& campaign, const Judgement& judgement,
                                      const std::vector<Issue>& known, const std::string& at) {
  std::set<std::tuple<std::string, std::string, std::string>> seen;
  for (const Issue& i : known) {
    if (!i.closed.empty()) continue;
    for (const std::string& id : criteria_of(i)) seen.emplace(id, i.host, i.part);
  }
  std::vector<Issue> out;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (v.state != State::fail) continue;
    std::map<std::string, size_t> parts;
    for (const Finding& f : v.failing) ++parts[f.entity.host];
    for (const Finding& f : v.failing) {
      const std::string part = part_text(f, parts[f.entity.host]);
      if (!seen.emplace(v.criterion->id, f.entity.host, part).second) continue;
      add_failure(out, {.found = at,
                        .host = f.entity.host,
                        .part = part,
                        .serial = serial_of(campaign, f.entity),
                        .symptom = symptom_of(f),
                        .evidence = f.file,
                        .severity = severity_of(*v.criterion, f),
                        .criterion = v.criterion->id});
    }
  }
  std::vector<Issue> all = known;
  for (Issue& i : out) {
    i.id = next_issue_id(all);
    all.push_back(i);
  }
  return out;
}

std::string issues_state(const fs::path& directory) {
  const CampaignLock lock({directory});
  settle_interrupted(directory, kIssues);
  return last_state(directory / history_of(kIssues));
}

void write_issues(const fs::path& directory, const std::vector<Issue>& issues,
                  const std::string& at, const HistorySigner* signer,
                  const std::optional<std::string>& state) {
  const CampaignLock lock({directory});
  settle_interrupted(directory, kIssues);
  if (state && last_state(directory / history_of(kIssues)) != *state)
    throw UsageError((directory / kIssues).string(), "",
                     "was changed by somebody else meanwhile: give the command again");
  std::set<json> known;
  for (const Issue& i :
       read_list<Issue>(directory, kIssues, "clusterbench.issues", "issues", issue_of))
    known.insert(issue_json(i));
  json out = {{"schema", "clusterbench.issues/1"}, {"issues", json::array()}};
  json changed = json::array();
  for (const Issue& i : issues) {
    out["issues"].push_back(issue_json(i));
    if (!known.contains(out["issues"].back())) changed.push_back(out["issues"].back());
  }
  if (!changed.empty()) write_with_history(directory, kIssues, dump_json(out), changed, at, signer);
}

std::string next_issue_id(const std::vector<Issue>& issues) {
  for (size_t n = issues.size() + 1;; ++n) {
    std::string id = fmt::format("I-{:03}", n);
    if (std::none_of(issues.begin(), issues.end(), [&](const Issue& i) { return i.id == id; }))
      return id;
  }
}

std::optional<std::string> why_not_mended(const Issue& issue, const Campaign& retest,
                                          const Judgement& judgement) {
  if (retest.ended.empty()) return "it is not finished: run --resume";
  if (!retest.warnings.empty()) return "it was changed: " + retest.warnings.front().text();
  // The re-test's records may give a host another name than the one it was asked by.
  const auto is_it = [&](const auto& host) { return host.host == issue.host; };
  if (!issue.host.empty() && std::ranges::find(retest.hosts, issue.host) == retest.hosts.end() &&
      std::ranges::none_of(retest.inventories, is_it))
    return fmt::format("{} is not in it", issue.host);
  const std::string asked = HostNames(retest).asked(issue.host).value_or(issue.host);
  const std::vector<std::string> wanted = criteria_of(issue);
  std::set<std::string> unjudged(wanted.begin(), wanted.end());
  bool judged = false;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (!wanted.empty() && std::ranges::find(wanted, v.criterion->id) == wanted.end()) continue;
    const bool judges = v.state != State::not_applicable && v.entities > 0;
    if (judges) unjudged.erase(v.criterion->id);
    judged = judged || judges;
    for (const Finding& f : v.failing) {
      if (f.entity.host == issue.host && v.criterion->severity == Severity::fail)
        return fmt::format("{} still fails: {}", v.criterion->id, entity_name(f.entity));
    }
    for (const Gap& gap : v.gaps) {
      // An issue of a pair or group names no host: any host that was not measured may be of it.
      if (gap.host.empty() || issue.host.empty() || gap.host == issue.host || gap.host == asked)
        return fmt::format("{} was not measured there", v.criterion->id);
    }
  }
  if (!judged || !unjudged.empty())
    return fmt::format("it does not judge {}", unjudged.empty() ? "anything" : *unjudged.begin());
  if (retest.started < issue.found)
    return fmt::format("it began at {}, before the issue was found ({})", retest.started,
                       issue.found);
  return std::nullopt;
}

}  // namespace cb
