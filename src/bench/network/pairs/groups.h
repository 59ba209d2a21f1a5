#pragma once

#include <string>
#include <vector>

#include "bench/network/pairs/survey.h"
#include "core/result.h"
#include "model/locate_groups.h"

// Compares ranks before pairs of hosts are measured: first the ranks within each host, all hosts at
// the same time; then the ranks at the same place of each host, all places at the same time.
namespace cb {

// Ranks in groups, and the reason if the groups cannot be compared.
struct RankGroups {
  UnitGroups groups;
  const char* fact = "";  // name of the fact that says what could have been seen
  std::vector<std::string> names = {};
  Said not_compared = {};
};
RankGroups ranks_of_hosts(const RankMap& place);
RankGroups ranks_of_rails(const RankMap& place);

struct GroupFindings {
  JudgedGroups judged;
  std::vector<PairReading> readings;
};

// Collective. Runs a few rounds of pairs inside the groups. Rank 0 gets the findings.
GroupFindings survey_groups(Context& context, PairTransport& transport, const SurveyPlan& plan,
                            const RankGroups& ranks, uint64_t seed, const LocateOptions& options);

// Called on rank 0. Adds a failed check no_suspect per slow group and per slow rank, the groups'
// figures as metrics, and a fact that says what could have been seen.
void add_group_findings(Record& record, const RankMap& place, const RankGroups& ranks,
                        const GroupFindings& found, double worst_acceptable);

}  // namespace cb
