#pragma once

#include <set>
#include <string>
#include <vector>

#include "core/result.h"

namespace cb {

// Whether the record's parameters have the values selected ("4K" equals 4096, "10s" equals 10.0).
// Several values of one name: any of them.
bool matches(const Params& params, const GivenParams& at);

// The same for a record that was not measured, which carries the whole sweep: one value in common
// is enough, and a parameter that it lacks does not exclude it.
bool may_match(const Params& params, const GivenParams& at);

// Names of the parameters that differ between the records.
std::set<std::string> varying_params(const std::vector<Record>& records);

// "size 8G, op all_reduce": the varying and the selected parameters of one record.
std::string point_text(const Params& params, const std::set<std::string>& varying,
                       const GivenParams& at);

}  // namespace cb
