// What every host consists of. The runner's caller collects the inventories for every measurement
// and stores them in the document; this case has nothing to measure beyond naming the hosts that
// answered. What differs between them is for the judge, not for measuring.
#include "bench/cases.h"

namespace cb {
namespace {

CaseInfo describe() {
  return {
      .name = "info",
      .device = "",
      .summary = "what the hosts consist of, and where they differ",
      .example = "mpirun --map-by ppr:1:node clusterbench info --json info.json",
      .domain = "host",
      .needs = {},
      .params = {},
      .metrics = {},
      .checks = {},
      .fault = {.why_not = said("fault.inventory")},
      .prints_inventory = true,
      .learns_hosts = true,
  };
}

std::vector<Record> run(Context& context, const Params& params) {
  Record record{.case_name = "info", .params = params};
  record.entity({context.place.host, "host", ""});
  return {std::move(record)};
}

}  // namespace

Case info_case() { return {describe(), run}; }

}  // namespace cb
