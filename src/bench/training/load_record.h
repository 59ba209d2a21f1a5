#pragma once

#include "bench/harness/comm.h"
#include "bench/training/load_session.h"
#include "core/catalogue.h"

namespace cb::training {

std::vector<MetricDef> load_metrics();

// Collective over the job. The figures are of a replica, on the first of its ranks. Where more is
// offered than one of the replicas can take, latencies are left out for all of them, because the
// others would stand for that one. Notes say why.
void add_load_figures(Comm& comm, Record& record, size_t self, const InferOptions& options,
                      double rate, const Loaded& measured);

}  // namespace cb::training
