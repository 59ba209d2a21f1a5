#pragma once

#include "bench/harness/case.h"
#include "bench/storage/io/target.h"

namespace cb::io {

// A record without figures whose notes say what `io` would make, write and read on this rank. The
// target has been looked at, and nothing has been made.
Record dry_run_record(const Context& context, const Params& params, const Target& target);

}  // namespace cb::io
