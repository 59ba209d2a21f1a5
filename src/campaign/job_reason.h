#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "campaign/executor.h"
#include "core/result.h"
#include "judge/campaign_data.h"

namespace cb {

struct JobEnd {
  JobState state = JobState::failed;
  Said reason;
};

// What a job wrote to stderr in this attempt: the file from that byte on.
struct LogTail {
  std::filesystem::path file;
  uintmax_t begin = 0;
};

// What the end of a job's process amounts to, given its document (null if there is none, then
// `problem` says why). The reason names what the job itself said first.
JobEnd conclude_job(const TaskEnd& end, const Document* document, const Said& problem,
                    const LogTail& log, double deadline_seconds);

}  // namespace cb
