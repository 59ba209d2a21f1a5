#include "cli/judging.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

#include "bench/registry.h"

namespace cb {
namespace {

bool test_cases_allowed() {
  const char* value = std::getenv("CLUSTERBENCH_TEST_CASES");
  return value != nullptr && std::string_view(value) == "1";
}

bool runs_test_case(const Step& step, const Catalogue& known) {
  const CaseInfo* info = find_case(known, step.case_name);
  return info != nullptr && info->hidden;
}

bool is_test_profile(const Profile& profile) {
  const Catalogue known = catalogue();
  return std::ranges::any_of(profile.steps,
                             [&](const Step& step) { return runs_test_case(step, known); });
}

}  // namespace

void refuse_test_cases(const Profile& profile, Problems& problems) {
  if (test_cases_allowed()) return;
  const Catalogue known = catalogue();
  for (const Step& step : profile.steps) {
    if (runs_test_case(step, known))
      problems.add(fmt::format("steps[{}].case", step.id),
                   fmt::format("{} makes its figures up, to test clusterbench itself: a profile "
                               "that runs it accepts nothing",
                               step.case_name));
  }
}

Judgement judge_campaign(const Campaign& campaign, const Profile& profile,
                         const std::vector<Waiver>& waivers, const std::string& today) {
  Problems problems;
  refuse_test_cases(campaign.profile, problems);
  if (problems.empty()) refuse_test_cases(profile, problems);
  if (!problems.empty()) throw UsageError("profile " + profile.name, problems);
  Judgement out = judge(campaign, profile, waivers, today);
  out.test_profile = is_test_profile(profile) || is_test_profile(campaign.profile);
  return out;
}

}  // namespace cb
