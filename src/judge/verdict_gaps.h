#pragma once

#include <string>

#include "judge/campaign_data.h"
#include "judge/finding.h"

namespace cb {

// "node1", or "cluster" for a job across all hosts.
std::string job_place(const Job& job);

// Where its output stands, as far as that is known.
std::string job_log(const Job& job);

// What a job that is not done leaves open.
Message job_gap(const Job& job);

// What a record that was not measured leaves open.
Message record_gap(const Job& job, const Record& record);

// What a failed check says of its entity.
Message failed_check_message(const Entity& entity, const Check& check);

}  // namespace cb
