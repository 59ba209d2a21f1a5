#pragma once

#include <vector>

#include "bench/network/verbs/spec.h"
#include "core/params.h"

namespace cb::verbs {

std::vector<ParamDef> params();

// What is wrong with params that are each right by themselves.
void check_params(const Params& params, Problems& problems);

// One record: what is measured, and the params that stand in it.
struct Point {
  Spec spec;
  Params params;
};

// Every combination of --schedule, --op, --test, --service, --direction, --qps and size that has a
// meaning, in that order of nesting. Atomics are always 8 bytes; latency is one-way over one queue
// pair.
std::vector<Point> plan(const Params& params, int rank);

}  // namespace cb::verbs
