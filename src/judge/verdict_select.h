#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/result.h"

namespace cb {

// True if the record's parameters have the selected values ("4K" equals 4096, "10s" equals 10.0).
// If a name has several selected values, any of them matches.
bool matches(const Params& params, const GivenParams& at);

// Like matches(), for a record that was not measured and therefore has the whole sweep: one common
// value is enough, and a parameter that the record lacks does not exclude it.
bool may_match(const Params& params, const GivenParams& at);

// Returns the names of the parameters that differ between the records.
std::set<std::string> varying_params(const std::vector<Record>& records);

// "size 8G, op all_reduce": the varying and the selected parameters of one record.
std::string point_text(const Params& params, const std::set<std::string>& varying,
                       const GivenParams& at);

}  // namespace cb
