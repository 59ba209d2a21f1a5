// The settings of RoCE ports on every host, against one another, against what lossless traffic
// needs, and against the cabling plan. Nothing is set and nothing is sent. docs/methods/roce.md.
#include <algorithm>

#include "bench/cases.h"
#include "bench/network/finding_checks.h"
#include "bench/network/roce/read_host.h"
#include "core/error.h"
#include "core/file.h"
#include "core/param_builder.h"
#include "model/roce/audit.h"
#include "sys/net/rdma_port.h"

namespace cb {
namespace {

std::vector<std::string> all_kinds() {
  std::vector<std::string> out = roce_kinds();
  for (std::string& kind : cable_kinds()) out.push_back(std::move(kind));
  return out;
}

CaseInfo describe() {
  using namespace param;
  return {
      .name = "roce",
      .device = "",
      .summary = "settings of RoCE ports: PFC, ETS, DSCP, ECN, MTU, GIDs, routing, neighbours",
      .example = "mpirun --map-by ppr:1:node clusterbench roce --plan ports.csv --json r.json",
      .domain = "network",
      .needs = {},
      .params = {integer("priority")
                     .range(0, 7)
                     .help("the lossless one; default: what most ports "
                           "have"),
                 integer("traffic-class")
                     .range(0, 255)
                     .help("that applications send; default: NCCL_IB_TC, else 0"),
                 integer("cnp-dscp")
                     .range(0, 63)
                     .help("of congestion notifications; default: what most ports have"),
                 integer("least-share")
                     .range(0, 100)
                     .by_default("50")
                     .help("per cent of the bandwidth for the lossless class"),
                 duration("listen").range(0, 600).by_default("0").help(
                     "for neighbours by LLDP; switches send every 30 s, so 65s hears two frames"),
                 text("neighbours")
                     .excludes({"listen"})
                     .help("file on each host with what lldpcli -f json0 show neighbors printed"),
                 text("plan").help("ports as CSV: host,nic,switch,switch_port")},
      .metrics = {{"ports", "count", Better::higher, "of RoCE that are active"},
                  {"ports_heard", "count", Better::higher, "whose neighbour was heard"}},
      .checks = all_kinds(),
      .fault = {.why_not = said("fault.counters")},
      .fact_columns = {"lossless_priority"},
      .prints_suspects = true,
  };
}

void check_roce_input(const Params& params, Problems& problems) {
  if (params.has("plan") && params.number("listen") == 0 && !params.has("neighbours"))
    problems.add("--plan", said("roce.plan_listens"));
}

std::vector<PlannedCable> read_plan(Context& context, const Params& params) {
  std::vector<PlannedCable> out;
  Problems problems;
  if (params.has("plan") && context.comm.is_root()) {
    const std::string file = params.text("plan");
    try {
      out = read_port_plan(read_file(file), file);
    } catch (const UsageError& e) {
      for (const Problem& p : e.problems().list)
        problems.add("--plan " + file + " " + p.where, p.said());
    }
  }
  throw_agreed(context.comm, "clusterbench roce", problems);
  return out;
}

void add_neighbours(const std::string& file, RoceHost& host, Problems& problems) {
  try {
    net::read_neighbours(file, host);
  } catch (const UsageError& e) {
    for (const Problem& p : e.problems().list)
      problems.add("--neighbours " + file + " " + p.where, p.said());
  }
}

// Collective. Rank 0 gets every host; one rank of each host reads.
std::vector<RoceHost> gather_hosts(Context& context, const Params& params) {
  constexpr double kReading = 30;  // seconds for everything but listening
  const Watchdog::Bounded step(context.watchdog, params.number("listen") + kReading);
  RoceHost mine{.host = context.place.host};
  Problems problems;
  if (context.place.first_on_host()) {
    mine = net::read_roce_host(context.fs, context.place.host);
    if (params.number("listen") > 0)
      net::hear_neighbours(
          context.fs, params.number("listen"), [&] { return context.cancel.cancelled(); }, mine);
    if (params.has("neighbours")) add_neighbours(params.text("neighbours"), mine, problems);
  }
  throw_agreed(context.comm, "clusterbench roce", problems);
  std::vector<RoceHost> out;
  for (const std::string& text :
       context.comm.gather(context.place.first_on_host() ? roce_host_text(mine) : "")) {
    if (!text.empty()) out.push_back(roce_host_from_text(text));
  }
  return out;
}

std::vector<Record> run(Context& context, const Params& params) {
  Record record{.case_name = "roce", .params = params};
  const std::vector<PlannedCable> plan = read_plan(context, params);
  const std::vector<RoceHost> hosts = gather_hosts(context, params);
  if (!context.comm.is_root()) return {std::move(record)};
  size_t ports = 0;
  for (const RoceHost& host : hosts) {
    ports += host.nics.size();
    record.add("ports", record.entity({host.host, "host", ""}),
               Samples{static_cast<double>(host.nics.size())});
    if (host.listened)
      record.add("ports_heard", record.entity({host.host, "host", ""}),
                 Samples{static_cast<double>(std::ranges::count_if(
                     host.nics, [](const RoceNic& n) { return n.neighbour.has_value(); }))});
  }
  if (ports == 0) {
    record.outcome = Skipped{said("roce.no_port")};
    record.metrics.clear();
    return {std::move(record)};
  }
  RoceWanted wanted{.least_share = static_cast<int>(params.integer("least-share"))};
  if (params.has("priority")) wanted.priority = static_cast<int>(params.integer("priority"));
  if (params.has("traffic-class"))
    wanted.traffic_class = static_cast<int>(params.integer("traffic-class"));
  if (params.has("cnp-dscp")) wanted.cnp_dscp = static_cast<int>(params.integer("cnp-dscp"));
  RoceAudit audit = audit_roce(hosts, wanted);
  if (!plan.empty()) audit_cables(hosts, plan, audit);
  record.notes = audit.notes;
  if (audit.lossless) record.facts["lossless_priority"] = std::to_string(*audit.lossless);
  add_finding_checks(record, audit, all_kinds(), [](const RoceFinding& f) {
    return Entity{f.host, "nic", f.device};
  });
  return {std::move(record)};
}

}  // namespace

Case roce_case() { return {describe(), run, check_roce_input}; }

}  // namespace cb
