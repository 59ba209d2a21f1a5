#include "bench/harness/fault.h"

#include <fmt/format.h>

#include "core/error.h"
#include "core/param_builder.h"

namespace cb {

ParamDef fault_param(const char* what) {
  return param::integer("inject-fault").help(fmt::format("this rank {}", what)).at_least(0);
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

}  // namespace cb
