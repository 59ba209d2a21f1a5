#pragma once

#include <vector>

#include "bench/network/arrivals.h"
#include "bench/network/verbs/spec.h"
#include "core/params.h"

namespace cb::verbs {

std::vector<ParamDef> params();

// Adds a problem for params that are right by themselves but wrong together.
void check_params(const Params& params, Problems& problems);

// What one record measures, and its params.
struct Point {
  Spec spec;
  Params params;
};

// Every meaningful combination of --schedule, --op, --test, --service, --direction, --qps and size,
// nested in this order. Atomics always have 8 bytes. Latency is one-way over one queue pair.
std::vector<Point> plan(const Params& params);
std::vector<net::Arrivals> arrivals(const std::vector<Point>& points);

}  // namespace cb::verbs
