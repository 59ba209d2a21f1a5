#include "analysis/retest.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

bool covers(const Campaign& campaign, const std::string& host) {
  return std::ranges::find(campaign.hosts, host) != campaign.hosts.end() ||
         std::ranges::any_of(campaign.inventories,
                             [&](const HostInventory& i) { return i.host == host; });
}

std::string passed_text(const CriterionVerdict& v) {
  std::string out = fmt::format("{} passes", v.criterion->id);
  if (v.value && v.limit)
    out += fmt::format(": {}, {} {} is required", format_value(*v.value, v.unit),
                       v.limit_is_minimum ? "at least" : "at most", format_value(*v.limit, v.unit));
  return out;
}

// The evidence, or why there is none.
std::variant<std::string, NoRetest> criterion_evidence(const Issue& issue, const Profile& profile,
                                                       const Campaign& campaign,
                                                       const std::string& today) {
  Profile only = profile;
  std::erase_if(only.criteria, [&](const Criterion& c) { return c.id != issue.criterion; });
  if (only.criteria.empty())
    return NoRetest{fmt::format("the profile has no criterion {} any more", issue.criterion)};
  const Judgement judgement = judge(campaign, only, {}, today);
  const CriterionVerdict& v = judgement.criteria.front();
  if (v.state == State::pass) return passed_text(v);
  return NoRetest{fmt::format("{} is {} in the re-test: {}", issue.criterion, state_name(v.state),
                              v.reason.empty() ? "measure it with the same step" : v.reason)};
}

std::variant<std::string, NoRetest> campaign_evidence(const Campaign& campaign,
                                                      const std::string& today) {
  const Judgement judgement = judge(campaign, campaign.profile, {}, today);
  if (judgement.overall() == State::pass)
    return fmt::format("profile {} is accepted, {} criteria pass", campaign.profile.name,
                       judgement.count(State::pass));
  return NoRetest{fmt::format("the re-test is not accepted: {} criteria fail, {} were not measured",
                              judgement.count(State::fail), judgement.count(State::incomplete))};
}

}  // namespace

std::variant<Retest, NoRetest> judge_retest(const Issue& issue, const Profile& profile,
                                            const Campaign& campaign, const std::string& today) {
  if (campaign.ended.empty()) return NoRetest{"the re-test is not finished: run --resume"};
  if (!campaign.warnings.empty())
    return NoRetest{"the re-test was changed: " + campaign.warnings[0]};
  if (campaign.started < issue.found_at)
    return NoRetest{
        fmt::format("it began at {}, before the issue was found ({}): measure again "
                    "after the repair",
                    campaign.started, issue.found_at)};
  if (!issue.host.empty() && !covers(campaign, issue.host))
    return NoRetest{fmt::format("it did not measure {}", issue.host)};
  const auto evidence = issue.criterion.empty()
                            ? campaign_evidence(campaign, today)
                            : criterion_evidence(issue, profile, campaign, today);
  if (const auto* no = std::get_if<NoRetest>(&evidence)) return *no;
  return Retest{campaign.id, campaign.started, issue.host, std::get<std::string>(evidence), ""};
}

}  // namespace cb
