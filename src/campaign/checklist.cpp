#include "campaign/checklist.h"

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

constexpr std::array<std::string_view, 3> kResults{"pass", "fail", "not-applicable"};

ChecklistResult result_of(const json& j) {
  return {.item = text_at(j, "item"),
          .result = text_at(j, "result"),
          .who = text_at(j, "who"),
          .when = text_at(j, "when"),
          .remark = text_at(j, "remark")};
}

void check(const Profile& profile, const ChecklistResult& r, const std::string& today) {
  Problems problems;
  std::vector<std::string> known;
  for (const ChecklistItem& item : profile.checklist) known.push_back(item.id);
  if (known.empty())
    problems.add("ITEM", fmt::format("profile {} has no checklist", profile.name));
  else if (std::ranges::find(known, r.item) == known.end())
    problems.add("ITEM", unknown_name(r.item, known));
  if (std::ranges::find(kResults, r.result) == kResults.end())
    problems.add("--result", "is none of pass, fail, not-applicable");
  if (r.who.empty()) problems.add("--who", "is missing: who checked it?");
  if (!is_date(r.when))
    problems.add("--when", fmt::format("{} is not a day YYYY-MM-DD", r.when));
  else if (r.when > today)
    problems.add("--when", fmt::format("{} is to come", r.when));
  if (r.result == "not-applicable" && r.remark.empty())
    problems.add("--remark", "is missing: why is it not applicable?");
  if (!problems.empty()) throw UsageError("checklist", problems);
}

}  // namespace

std::vector<ChecklistResult> read_checklist(const CampaignPaths& paths) {
  std::vector<ChecklistResult> out;
  for (const json& event : read_history(paths.checklist())) {
    try {
      out.push_back(result_of(event));
    } catch (const std::exception& e) {
      throw UsageError(paths.checklist().string(), fmt::format("line {}", out.size() + 1),
                       reading_problem(e));
    }
  }
  return out;
}

void set_checklist(const CampaignPaths& paths, const Profile& profile, const ChecklistResult& r,
                   const std::string& today) {
  check(profile, r, today);
  const CampaignLock lock(paths);
  append_history(paths.checklist(), {{"item", r.item},
                                     {"result", r.result},
                                     {"who", r.who},
                                     {"when", r.when},
                                     {"remark", r.remark}});
}

}  // namespace cb
