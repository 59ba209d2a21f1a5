#include "bench/harness/fault.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/error.h"
#include "core/param_builder.h"
#include "model/hang.h"

namespace cb {

ParamDef fault_param(const char* what) {
  return param::integer("inject-fault").help(fmt::format("this rank {}", what)).at_least(0);
}

ParamDef fault_param_of_able(const char* what) {
  return param::integer("inject-fault")
      .help(fmt::format("this rank {}; {}: the first that does", what, kFirstAble))
      .at_least(kFirstAble);
}

bool plants_fault(const Context& context, const Params& params) {
  return params.has("inject-fault") && params.integer("inject-fault") == context.comm.rank();
}

void check_faulty_rank(const Context& context, const Params& params, Problems& problems) {
  if (!params.has("inject-fault") || params.integer("inject-fault") < context.comm.size()) return;
  problems.add("--inject-fault",
               fmt::format("there is no rank {}", params.integer("inject-fault")));
}

void require_faulty_rank(const Context& context, const Params& params) {
  Problems problems;
  check_faulty_rank(context, params, problems);
  if (!problems.empty())
    throw UsageError("clusterbench " + std::string(context.info->name), problems);
}

void require_faulty_rank_among(const Context& context, const Params& params,
                               const std::vector<int>& able, const char* why) {
  require_faulty_rank(context, params);
  const int64_t rank = params.integer("inject-fault");
  if (rank == kFirstAble && !able.empty()) return;
  if (std::ranges::find(able, rank) != able.end()) return;
  throw UsageError("clusterbench " + std::string(context.info->name), "--inject-fault",
                   said(why, rank, able.empty() ? "–" : rank_ranges(able)));
}

bool plants_fault_among(const Context& context, const Params& params,
                        const std::vector<int>& able) {
  if (params.integer("inject-fault") != kFirstAble) return plants_fault(context, params);
  return !able.empty() && able.front() == context.comm.rank();
}

}  // namespace cb
