#pragma once

#include "core/result.h"

namespace cb {

// Puts the samples of an earlier attempt of the same job in front of the fresh ones, metric by
// metric where case, parameters, name and entity are the same, and says so in the records' notes.
// Two measurements of the same thing know its median better than one. Each attempt's own summary is
// kept. Where other work disturbed one of the two only (model/disturbance.h), the other one
// alone stays: that is decided by the load, never by the figure.
void pool_samples(Document& fresh, const Document& earlier);

}  // namespace cb
