#pragma once

#include "bench/harness/case.h"

// --inject-fault RANK: that rank spoils its own data where a real fault would, so that everybody
// can see that the case's check finds it: a failed check, no number. docs/guide/campaign.md,
// --prove.
namespace cb {

// The parameter. `what` goes on after "this rank …" and is told what finds it.
ParamDef fault_param(const char* what);

// Whether this rank is to spoil its data.
bool plants_fault(const Context& context, const Params& params);

// A rank that is not there would plant nothing, and the check would look as if it were blind.
void check_faulty_rank(const Context& context, const Params& params, Problems& problems);
// Throws UsageError, on every rank alike.
void require_faulty_rank(const Context& context, const Params& params);

}  // namespace cb
