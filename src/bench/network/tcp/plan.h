#pragma once

#include <vector>

#include "bench/network/arrivals.h"
#include "bench/network/tcp/spec.h"
#include "core/params.h"

namespace cb::tcp {

std::vector<ParamDef> params();
// Adds a problem for params that are right by themselves but wrong together.
void check_params(const Params& params, Problems& problems);

// What one record measures, and its params.
struct Point {
  Spec spec;
  Params params;
};
// Every combination of --schedule, --test, --direction, --streams, --size and --loss.
std::vector<Point> plan(const Params& params);
std::vector<net::Arrivals> arrivals(const std::vector<Point>& points);

}  // namespace cb::tcp
