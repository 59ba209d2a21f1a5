#pragma once

#include "core/result.h"

namespace cb {

// Puts the samples of an earlier attempt of the same job before the fresh ones, metric by metric,
// where case, parameters, name and entity are the same, and says so in the records' notes. Two
// measurements of one thing know its median better than one. Keeps each attempt's own summary, and
// figures that the earlier attempt alone has. If
// other work disturbed only one of the two (model/disturbance.h), only the other one stays: the
// load decides this, never the figure.
void pool_samples(Document& fresh, const Document& earlier);

}  // namespace cb
