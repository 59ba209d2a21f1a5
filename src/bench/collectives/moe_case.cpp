// Dispatch and combine of a mixture of experts in host memory over MPI: each token goes to the
// ranks of its experts, and what they make of it comes back and is added. Times with and without
// the packing on the processor, by a router's choices. docs/methods/moe.md.
#include <algorithm>

#include "bench/cases.h"
#include "bench/collectives/moe/host_exchange.h"
#include "bench/collectives/moe/measure.h"
#include "bench/harness/shared_params.h"

namespace cb {
namespace {

using namespace moe;

CaseInfo describe_moe() {
  CaseInfo out = moe_info();
  out.device = "cpu";
  out.example =
      "mpirun -np 4 clusterbench moe --batch 128 --routing random,skewed:0.3 --json m.json";
  out.params = joined({{device_param("cpu", "where the tokens lie")}, moe_params()});
  return out;
}

// Collective. More than a call of MPI counts is refused on all ranks.
void require_countable(Context& context, const MoePoint& point, const Routes& routes) {
  Problems problems;
  const auto row = static_cast<size_t>(
      std::max(point.format.dispatch_row(point.router.top_k), point.format.combine_payload()));
  const auto longest = static_cast<int64_t>(std::max(routes.rows_in(), routes.rows_out()));
  if (!RowExchange::countable({{longest}, row}))
    problems.add("--batch", point.plan.what +
                                " is more than one call of MPI counts: ask for "
                                "fewer tokens");
  throw_agreed(context.comm, "clusterbench moe", problems);
}

std::vector<Record> run_moe(Context& context, const Params& params) {
  const Group group = make_group(context.place, context.comm.rank(), "");
  const MoeDevice host{
      .require_room =
          [&](const MoePoint& point, const Routes& routes) {
            require_host_memory(context, point, routes);
            require_countable(context, point, routes);
          },
      .make =
          [&](Routes routes, const TokenData& data, std::vector<std::string> names) {
            return std::make_unique<HostExchange>(std::move(routes), data,
                                                  RowExchange(group.comm.mpi()), std::move(names));
          },
      .describe = [](Record& record) { record.facts["library"] = mpi::library_name(); }};
  return run_moe_points(context, params, group.comm, host);
}

}  // namespace

Case moe_cpu_case() { return {describe_moe(), run_moe, check_moe}; }

}  // namespace cb
