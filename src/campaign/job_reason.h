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

// What a job wrote to stderr in this attempt: the file from byte `begin` on.
struct LogTail {
  std::filesystem::path file;
  uintmax_t begin = 0;
};

// Turns the end of a job's process into a state and a reason. `document` is the job's document; if
// it is null, `problem` says why there is none. The reason quotes what the job itself said first.
JobEnd conclude_job(const TaskEnd& end, const Document* document, const Said& problem,
                    const LogTail& log, double deadline_seconds);

}  // namespace cb
