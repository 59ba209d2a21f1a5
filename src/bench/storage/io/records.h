#pragma once

#include "bench/storage/io/measurement.h"
#include "core/result.h"

namespace cb::io {

// This rank's share of the record of one direction: entities, metrics, checks, facts and notes.
// Collective: the figures of all ranks together are rank 0's.
Record record_of(Context& context, const Params& params, Direction direction, const Target& target,
                 const Measurement& m);

// What was done before a request failed on some rank: no figure of it means anything, but a reader
// wants to know how far it came.
Record failed_record(Context& context, const Params& params, const Target& target,
                     const Measurement& m, Direction direction);

}  // namespace cb::io
