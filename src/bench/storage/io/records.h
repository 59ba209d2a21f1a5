#pragma once

#include "bench/storage/io/measurement.h"
#include "core/result.h"

namespace cb::io {

// This rank's share of the record of one direction: entities, metrics, checks, facts and notes.
// Rank 0's share holds the figures of all ranks together. Collective.
Record record_of(Context& context, const Params& params, Direction direction, const Target& target,
                 const Measurement& m);

// A record of what was done before a request failed on some rank. It has no figures, since none
// would mean anything; it tells a reader how far the run came.
Record failed_record(Context& context, const Params& params, const Target& target,
                     const Measurement& m, Direction direction);

}  // namespace cb::io
