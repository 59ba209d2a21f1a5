#pragma once

#include <vector>

#include "bench/network/tcp/spec.h"
#include "core/params.h"

namespace cb::tcp {

std::vector<ParamDef> params();
// What is wrong with params that are each right by themselves.
void check_params(const Params& params, Problems& problems);

// One record: what is measured, and its params.
struct Point {
  Spec spec;
  Params params;
};
// Every combination of --schedule, --test, --direction, --streams and --size, for this rank.
std::vector<Point> plan(const Params& params, int rank);

}  // namespace cb::tcp
