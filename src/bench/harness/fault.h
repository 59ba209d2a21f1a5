#pragma once

#include <vector>

#include "bench/harness/case.h"

// --inject-fault RANK: that rank spoils its own data where a real fault would, so that everybody
// can see that the case's check finds it: a failed check, no number. docs/guide/campaign.md,
// --prove.
namespace cb {

// The parameter. `what` goes on after "this rank …" and is told what finds it.
ParamDef fault_param(const char* what);
// The same where not every rank has something to spoil: kFirstAble is the first that has.
ParamDef fault_param_of_able(const char* what);
inline constexpr int64_t kFirstAble = -1;

// Whether this rank is to spoil its data.
bool plants_fault(const Context& context, const Params& params);

// A rank that is not there would plant nothing, and the check would look as if it were blind.
void check_faulty_rank(const Context& context, const Params& params, Problems& problems);
// Throws UsageError, on every rank alike.
void require_faulty_rank(const Context& context, const Params& params);
// Throws UsageError as above, also for a rank that has nothing to spoil: it is not in `able`, the
// ascending ranks that have something, which are the same on every rank. `why` is the id of a
// sentence that takes the rank and those ranks.
void require_faulty_rank_among(const Context& context, const Params& params,
                               const std::vector<int>& able, const char* why);

// Whether this rank is to spoil its data in a point of which the ranks `able` have something to
// spoil: kFirstAble is the first of each point, so that every point has the fault.
bool plants_fault_among(const Context& context, const Params& params, const std::vector<int>& able);

}  // namespace cb
