#pragma once

#include "bench/training/load_session.h"
#include "core/catalogue.h"

namespace cb::training {

std::vector<MetricDef> load_metrics();

// Of one replica, on the first of its ranks. Where more is offered than it can take, latencies are
// left out and a note says why.
void add_load_figures(Record& record, size_t self, const InferOptions& options, double rate,
                      const Loaded& measured);

}  // namespace cb::training
