#pragma once

#include "bench/harness/case.h"
#include "bench/storage/io/target.h"

namespace cb::io {

// What `io` would make, write and read on this rank, as the notes of a record without figures. The
// target has been looked at and nothing was made.
Record dry_run_record(const Context& context, const Params& params, const Target& target);

}  // namespace cb::io
