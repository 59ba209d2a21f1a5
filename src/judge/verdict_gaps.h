#pragma once

#include <string>
#include <vector>

#include "judge/campaign_data.h"
#include "judge/finding.h"
#include "judge/verdict_hosts.h"

namespace cb {

// "node1", "pair-001-002 (node1, node2)", or "cluster" for a job across all hosts.
std::string job_place(const Job& job);

// The hosts, as they were asked for, that a job across several hosts has to cover.
const std::vector<std::string>& job_hosts(const Job& job, const HostNames& names);

// True if the job did not come to its end.
bool is_open(const Job& job);

// The hosts that a gap of the job is of: its own, or the members of its group, which nobody else
// measures there. "" stands for all hosts together.
std::vector<std::string> hosts_left_open(const Job& job);

// Path of the job's output, or "logs/" if it is not known.
std::string job_log(const Job& job);

// Says what is missing because the job is not done.
Message job_gap(const Job& job);

// Says what is missing because the record was not measured.
Message record_gap(const Job& job, const Record& record);

// Says what a failed check found about its entity.
Message failed_check_message(const Entity& entity, const Check& check);

}  // namespace cb
