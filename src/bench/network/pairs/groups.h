#pragma once

#include <string>
#include <vector>

#include "bench/network/pairs/survey.h"
#include "core/result.h"
#include "model/locate_groups.h"

// Before the pairs of hosts: the ranks of a host among themselves, all hosts at the same time, and
// the ranks of the same place on their hosts, all places at the same time.
namespace cb {

// Ranks that belong together, and why they cannot be compared with the other groups, if so.
struct RankGroups {
  UnitGroups groups;
  const char* fact = "";  // under which the record says what could have been seen
  std::vector<std::string> names = {};
  Said not_compared = {};
};
RankGroups ranks_of_hosts(const Place& place);
RankGroups ranks_of_rails(const Place& place);

struct GroupFindings {
  JudgedGroups judged;
  std::vector<PairReading> readings;
};

// Collective: a few rounds of pairs inside the groups. What was found on rank 0.
GroupFindings survey_groups(Context& context, PairTransport& transport, const SurveyPlan& plan,
                            const RankGroups& ranks, uint64_t seed, const LocateOptions& options);

// On rank 0: a failed check no_suspect per slow group and slow rank, the groups' figures as
// metrics, and a fact that says what could have been seen.
void add_group_findings(Record& record, const Place& place, const RankGroups& ranks,
                        const GroupFindings& found, double worst_acceptable);

}  // namespace cb
