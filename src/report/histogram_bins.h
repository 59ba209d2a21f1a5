#pragma once

#include "core/samples.h"
#include "report/chart.h"

namespace cb {

// Divides the samples into 48 bins, logarithmic if they are positive and span more than a factor of
// three. Every sample is in exactly one bin. `samples` must not be empty.
DistributionChart bins_of(const Samples& samples);

}  // namespace cb
