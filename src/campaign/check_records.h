#pragma once

#include <string>
#include <vector>

#include "judge/campaign_data.h"

namespace cb {

// One attempt's document beside what the journal says of that attempt. Times are ISO 8601; an empty
// one is unknown.
struct RecordOrigin {
  std::string file;          // relative to the campaign directory
  std::string began, ended;  // of the attempt, by the journal
  std::string first, last;   // of the measurement, by the document
  std::string host;          // that was asked for; empty for a step of scope cluster
  std::string machine;       // that the document names; empty if it does not name exactly one
};

RecordOrigin origin_of(const Job& job, const std::string& file, const RunInfo& run);

// Adds a warning for records that do not fit their campaign. Either they were taken at another time
// than the journal gives for their attempt (clocks that differ, or another campaign's records), or
// they name another machine than the other records of the same host.
void check_records(const std::vector<RecordOrigin>& records, Campaign& campaign);

}  // namespace cb
