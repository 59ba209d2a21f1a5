#pragma once

#include "core/samples.h"
#include "report/chart.h"

namespace cb {

// At most 48 bins over the samples; logarithmic where they span more than a factor of three and are
// positive. Needs one sample. Every sample is in exactly one bin.
DistributionChart bins_of(const Samples& samples);

}  // namespace cb
