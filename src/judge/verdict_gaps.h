#pragma once

#include <string>

#include "judge/campaign_data.h"
#include "judge/finding.h"

namespace cb {

// "node1", or "cluster" for a job across all hosts.
std::string job_place(const Job& job);

// Path of the job's output, or "logs/" if it is not known.
std::string job_log(const Job& job);

// Says what is missing because the job is not done.
Message job_gap(const Job& job);

// Says what is missing because the record was not measured.
Message record_gap(const Job& job, const Record& record);

// Says what a failed check found about its entity.
Message failed_check_message(const Entity& entity, const Check& check);

}  // namespace cb
