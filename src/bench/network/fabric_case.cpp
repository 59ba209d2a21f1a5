// The InfiniBand subnet as `ibnetdiscover` saw it: its links against each other and against the
// cabling plan, before any traffic. docs/methods/fabric.md.
#include <algorithm>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "bench/cases.h"
#include "core/file.h"
#include "core/param_builder.h"
#include "model/fabric/findings.h"

namespace cb {
namespace {

// What is looked for in every subnet, and with a plan.
constexpr const char* kAlways[] = {"link_rate",      "duplicate_guid", "duplicate_lid",
                                   "duplicate_name", "one_sided",      "wrong_rail"};
constexpr const char* kWithPlan[] = {"missing", "surplus", "moved", "swapped", "rotated", "chain"};

CaseInfo describe() {
  using namespace param;
  const auto lower = Better::lower, higher = Better::higher;
  return {.name = "fabric",
          .device = "",
          .summary =
              "the InfiniBand subnet: slow and swapped links, duplicates, rails, by "
              "ibnetdiscover's output and a cabling plan",
          .example = "clusterbench fabric --from net.txt --plan cabling.csv --json f.json",
          .domain = "network",
          .params = {text("from").help("what ibnetdiscover printed"),
                     text("plan").help("links as CSV: a_device,a_port,b_device,b_port; an adapter "
                                       "is host/nic")},
          .metrics = {{"adapters", "count", higher, "of hosts"},
                      {"switches", "count", higher, ""},
                      {"links", "count", higher, "that both ends tell of"},
                      {"hosts", "count", higher, "by the adapters' descriptions"},
                      {"oversubscription", "ratio", lower,
                       "of each leaf with links upwards: rate to its adapters over rate upwards"}},
          .checks = {kAlways[0], kAlways[1], kAlways[2], kAlways[3], kAlways[4], kAlways[5],
                     kWithPlan[0], kWithPlan[1], kWithPlan[2], kWithPlan[3], kWithPlan[4],
                     kWithPlan[5]},
          .fault = {.why_not = said("fault.counters")},
          .fact_columns = {"tiers", "parts"},
          .prints_suspects = true};
}

// One check for each kind: passed for the cluster, or failed for each part that it names.
void add_checks(Record& record, const std::vector<NetFinding>& findings, bool planned) {
  const size_t all = record.entity({"", "cluster", ""});
  std::set<std::string> found;
  for (const NetFinding& f : findings) {
    found.insert(f.kind);
    record.checks.push_back({.name = f.kind,
                             .passed = false,
                             .entity = record.entity({"", "link", f.part}),
                             .detail = f.what,
                             .finding = true});
  }
  const auto passes = [&](const char* kind) {
    if (!found.contains(kind))
      record.checks.push_back({.name = kind, .passed = true, .entity = all, .finding = true});
  };
  std::ranges::for_each(kAlways, passes);
  if (planned) std::ranges::for_each(kWithPlan, passes);
}

void add_shape(Record& record, const Net& net, const NetShape& shape) {
  const size_t all = record.entity({"", "cluster", ""});
  record.add("adapters", all, Samples{static_cast<double>(shape.adapters)});
  record.add("switches", all, Samples{static_cast<double>(shape.switches)});
  record.add("links", all, Samples{static_cast<double>(net.links.size())});
  record.add("hosts", all, Samples{static_cast<double>(shape.hosts)});
  for (const LeafRatio& leaf : shape.oversubscription) {
    const size_t of = record.entity({"", "switch", net.nodes[leaf.node].name});
    record.add("oversubscription", of, Samples{leaf.ratio});
  }
  record.facts["tiers"] = std::to_string(shape.tiers);
  record.facts["parts"] = std::to_string(shape.components);
}

struct FabricInput {
  Net net;
  std::vector<PlannedLink> plan;
};

// What is wrong with a file, with the file's name before the place within it.
template <typename Read>
void read_one(const std::string& file, Problems& problems, Read read) {
  try {
    read(read_file(file));
  } catch (const UsageError& e) {
    for (const Problem& p : e.problems().list)
      problems.add(p.where.empty() ? file : fmt::format("{}, {}", file, p.where), p.said());
  }
}

// Rank 0 reads the files; what is wrong with them every rank hears.
FabricInput read_input(Context& context, const Params& params) {
  FabricInput out;
  Problems problems;
  if (context.comm.is_root()) {
    const std::string from = params.text("from");
    read_one(from, problems,
             [&](const std::string& text) { out.net = read_ibnetdiscover(text, from); });
    if (params.has("plan")) {
      const std::string plan = params.text("plan");
      read_one(plan, problems,
               [&](const std::string& text) { out.plan = read_cabling(text, plan); });
    }
  }
  throw_agreed(context.comm, "clusterbench fabric", problems);
  return out;
}

std::vector<Record> run(Context& context, const Params& params) {
  Record record{.case_name = "fabric", .params = params};
  if (!params.has("from")) {
    record.outcome = Skipped{said("fabric.no_dump")};
    return {std::move(record)};
  }
  const FabricInput input = read_input(context, params);
  if (!context.comm.is_root()) return {std::move(record)};
  const NetShape shape = shape_of(input.net);
  std::vector<NetFinding> findings = irregularities(input.net, shape);
  if (!input.plan.empty()) {
    PlanDifference difference = against_plan(input.net, input.plan);
    std::ranges::move(difference.findings, std::back_inserter(findings));
    if (!difference.at_other_ports.empty())
      record.notes.push_back(said("fabric.other_ports", difference.at_other_ports.size(),
                                  difference.at_other_ports.front()));
  }
  add_shape(record, input.net, shape);
  add_checks(record, findings, !input.plan.empty());
  return {std::move(record)};
}

}  // namespace

Case fabric_case() { return {describe(), run}; }

}  // namespace cb
