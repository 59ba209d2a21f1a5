#pragma once

#include <vector>

#include "bench/harness/comm.h"
#include "core/result.h"

namespace cb {

// Collective. Joins every rank's records into whole ones on rank 0 (elsewhere empty): entities that
// are equal become one, metrics, checks, telemetry, facts and notes of all ranks follow in rank
// order. A record that errored on any rank is errored as a whole and keeps no number; skipped on
// any rank likewise. A failed check of the data anywhere takes the record's numbers too: wrong data
// yields none; a finding does not. n log n in the size of the data.
std::vector<Record> gather_records(Comm& comm, const std::vector<Record>& mine);

// A rank's share of a record as bytes, and back.
std::string pack_record(const Record& record);
Record unpack_record(const std::string& bytes);

// The joining alone: `ranks[r]` are rank r's records. Throws Error if the ranks disagree in number
// or params.
std::vector<Record> join_records(const std::vector<std::vector<Record>>& ranks);

}  // namespace cb
