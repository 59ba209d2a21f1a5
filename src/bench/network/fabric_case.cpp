// The InfiniBand subnet, asked through this host's port or read from files: its links, tables,
// managers and counters against each other and against the cabling plan. docs/methods/fabric.md.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <set>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/network/subnet/input.h"
#include "core/file.h"
#include "core/output_files.h"
#include "core/param_builder.h"
#include "model/fabric/picture.h"
#include "model/fabric/routes.h"
#include "model/fabric/write.h"

namespace cb {
namespace {

// A kind of finding passes only where what it needs was read.
enum class KindNeeds {
  links,
  rates,
  live,
  plan,
  ports,
  mtus,
  pkeys,
  managers,
  firmware,
  tables,
  counters,
  limit,
  sharp,
  alarms,
  before
};
struct NetKind {
  const char* name;
  KindNeeds needs;
};
constexpr NetKind kKinds[] = {{"link_rate", KindNeeds::rates},
                              {"duplicate_guid", KindNeeds::links},
                              {"duplicate_lid", KindNeeds::links},
                              {"duplicate_name", KindNeeds::links},
                              {"one_sided", KindNeeds::links},
                              {"wrong_rail", KindNeeds::links},
                              {"unanswered", KindNeeds::live},
                              {"missing", KindNeeds::plan},
                              {"surplus", KindNeeds::plan},
                              {"moved", KindNeeds::plan},
                              {"swapped", KindNeeds::plan},
                              {"rotated", KindNeeds::plan},
                              {"chain", KindNeeds::plan},
                              {"port_state", KindNeeds::ports},
                              {"mtu", KindNeeds::mtus},
                              {"pkeys", KindNeeds::pkeys},
                              {"manager", KindNeeds::managers},
                              {"second_master", KindNeeds::managers},
                              {"manager_stuck", KindNeeds::managers},
                              {"firmware", KindNeeds::firmware},
                              {"route_hole", KindNeeds::tables},
                              {"route_loop", KindNeeds::tables},
                              {"credit_loop", KindNeeds::tables},
                              {"route_balance", KindNeeds::tables},
                              {"errors", KindNeeds::counters},
                              {"saturated", KindNeeds::counters},
                              {"cleared", KindNeeds::counters},
                              {"oversubscribed", KindNeeds::limit},
                              {"sharp", KindNeeds::sharp},
                              {"alarm", KindNeeds::alarms},
                              {"changed", KindNeeds::before},
                              {"gone", KindNeeds::before},
                              {"new", KindNeeds::before}};

std::vector<std::string> kind_names() {
  std::vector<std::string> out;
  for (const NetKind& kind : kKinds) out.emplace_back(kind.name);
  return out;
}

CaseInfo describe() {
  using namespace param;
  const auto lower = Better::lower, higher = Better::higher;
  return {
      .name = "fabric",
      .device = "",
      .summary =
          "the InfiniBand subnet: links, cabling plan, subnet manager, routes and error counters, "
          "asked directly or from files",
      .example = "clusterbench fabric --from net.txt --plan cabling.csv --json f.json",
      .domain = "network",
      .params = joined(
          {net::fabric_source_params(),
           {text("plan").help("links as CSV: a_device,a_port,b_device,b_port; an adapter "
                              "is host/nic"),
            number("max-oversubscription")
                .range(0.01, 1000)
                .help("of a switch with links upwards, as the contract says: 1 or 1.5"),
            text("save").help("file for the subnet as ibnetdiscover prints it: for --leaf-map of "
                              "locate and verbs, and to read it again"),
            text("before").excludes({"plan"}).help("an earlier file of the same subnet: every "
                                                   "difference is a finding"),
            text("dot").help("file for a graph of it, for Graphviz"),
            text("picture").help(
                "file for a picture of it (SVG), with the findings where they are"),
            choice("picture-language", {"en", "zh"}).help("of --picture").by_default("en"),
            text("leaf-map-out")
                .help("file of lines HOST NIC LEAF, for --leaf-map of locate and verbs")}}),
      .metrics = {{"adapters", "count", higher, "of hosts"},
                  {"switches", "count", higher, ""},
                  {"links", "count", higher, "that both ends tell of"},
                  {"hosts", "count", higher, "by the adapters' descriptions"},
                  {"oversubscription", "ratio", lower,
                   "of each switch with links upwards: rate downwards over rate upwards"},
                  {"unreached_pairs", "count", lower,
                   "leaves and adapters to which the forwarding tables do not lead"},
                  {"uplink_load", "ratio", lower,
                   "all to all: the busiest link upwards of a switch over the mean of its links"},
                  {"shift_share", "share", higher,
                   "of its own rate that a flow gets when adapter i sends to adapter i + s"},
                  {"ends_with_errors", "count", lower, "with an error counter above 0"},
                  {"shown_errors_per_bit", "ratio", lower,
                   "that a window without an error shows with 95 % confidence"},
                  {"standby_managers", "count", higher, "that would take over from a master"},
                  {"discovery_seconds", "seconds", lower, "nodes, ports and links"}},
      .checks = kind_names(),
      .fault = {.why_not = said("fault.counters")},
      .fact_columns = {"tiers", "parts"},
      .prints_suspects = true};
}

size_t links_without_rate(const Net& net) {
  return static_cast<size_t>(std::ranges::count_if(net.links, [&](const NetLink& link) {
    const bool aggregates =
        net.nodes[link.a.node].aggregates() || net.nodes[link.b.node].aggregates();
    return !link.rate && !aggregates;
  }));
}

bool was_read(KindNeeds needs, const net::FabricInput& input, const Params& params) {
  const NetKnows& knows = input.net.knows;
  switch (needs) {
    case KindNeeds::links:
      return !input.net.links.empty();
    case KindNeeds::rates:
      return !input.net.links.empty() && links_without_rate(input.net) == 0;
    case KindNeeds::live:
      return input.mads.has_value();
    case KindNeeds::plan:
      return !input.plan.empty();
    case KindNeeds::before:
      return input.before.has_value();
    case KindNeeds::ports:
      return knows.ports;
    case KindNeeds::mtus:
      return knows.mtus;
    case KindNeeds::alarms:
      return knows.alarms;
    case KindNeeds::pkeys:
      return knows.pkeys;
    case KindNeeds::managers:
      return knows.managers;
    case KindNeeds::firmware:
      return knows.firmware;
    case KindNeeds::tables:
      return knows.tables;
    case KindNeeds::counters:
      return knows.counters;
    case KindNeeds::limit:
      return params.has("max-oversubscription");
    case KindNeeds::sharp:
      return std::ranges::any_of(input.net.nodes, &NetNode::aggregates);
  }
  return false;
}

// One check for each kind: passed for the cluster, or failed for each part that it names.
void add_checks(Record& record, const std::vector<NetFinding>& findings,
                const net::FabricInput& input, const Params& params) {
  const size_t all = record.entity({"", "cluster", ""});
  std::set<std::string> found;
  for (const NetFinding& f : findings) {
    found.insert(f.kind);
    record.checks.push_back({.name = f.kind,
                             .passed = false,
                             .entity = f.part.empty() ? all : record.entity({"", "link", f.part}),
                             .detail = f.what,
                             .finding = true});
  }
  for (const NetKind& kind : kKinds) {
    if (!found.contains(kind.name) && was_read(kind.needs, input, params))
      record.checks.push_back({.name = kind.name, .passed = true, .entity = all, .finding = true});
  }
}

Said topology_text(const NetTopology& topology) {
  const std::string percent = fmt::format("{:.0f}", std::floor(100 * topology.fits));
  switch (topology.is) {
    case NetClass::lone_switches:
      return said("fabric.class.lone");
    case NetClass::fat_tree:
      return said("fabric.class.tree", percent);
    case NetClass::rail_optimised:
      return said("fabric.class.rails", percent);
    case NetClass::dragonfly:
      return said("fabric.class.dragonfly", percent);
    case NetClass::irregular:
      break;
  }
  return said("fabric.class.irregular", percent);
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
  record.facts["topology"] = topology_text(topology_of(net, shape));
}

void oversubscribed(const Net& net, const NetShape& shape, double limit,
                    std::vector<NetFinding>& out) {
  constexpr double kRounding = 1e-9;
  for (const LeafRatio& leaf : shape.oversubscription) {
    if (leaf.ratio > limit * (1 + kRounding))
      out.push_back({"oversubscribed", net.nodes[leaf.node].name,
                     said("fabric.oversubscribed", fmt::format("{:.3g}", leaf.ratio),
                          fmt::format("{:.3g}", limit))});
  }
}

void add_routes(Record& record, const Net& net, const RouteReport& routes) {
  if (!net.knows.tables) return;
  const size_t all = record.entity({"", "cluster", ""});
  const RouteFigures& figures = routes.figures;
  if (figures.pairs == 0) {
    record.notes.push_back(said("fabric.no_routes"));
    return;
  }
  record.add("unreached_pairs", all, Samples{static_cast<double>(figures.unreached)});
  if (figures.uplink_load) record.add("uplink_load", all, Samples{*figures.uplink_load});
  if (figures.shift_share) record.add("shift_share", all, Samples{*figures.shift_share});
  record.facts["route_hops"] = std::to_string(figures.longest_hops);
}

void add_counters(Record& record, const Net& net) {
  if (!net.knows.counters) return;
  const size_t all = record.entity({"", "cluster", ""});
  record.add("ends_with_errors", all, Samples{static_cast<double>(ends_with_errors(net))});
  const auto shown = shown_errors_per_bit(net);
  if (!shown) {
    record.notes.push_back(said("fabric.no_window"));
    return;
  }
  record.add("shown_errors_per_bit", all, Samples{*shown});
  if (*shown > kErrorsPerBit)
    record.notes.push_back(said(
        "fabric.not_shown", fmt::format("{:.2g}", *shown), fmt::format("{:.0e}", kErrorsPerBit),
        fmt::format("{:.0f}", std::ceil(*net.window_seconds * *shown / kErrorsPerBit))));
}

void add_source(Record& record, const net::FabricInput& input) {
  record.facts["subnet_source"] = input.source;
  record.notes.insert(record.notes.end(), input.notes.begin(), input.notes.end());
  if (const size_t unknown = links_without_rate(input.net); unknown > 0)
    record.notes.push_back(said("fabric.no_rates", unknown, input.net.links.size()));
  const size_t all = record.entity({"", "cluster", ""});
  if (input.net.knows.managers) {
    const size_t standby = standby_managers(input.net);
    record.add("standby_managers", all, Samples{static_cast<double>(standby)});
    if (standby == 0) record.notes.push_back(said("fabric.no_standby"));
  }
  if (!input.mads) return;
  record.add("discovery_seconds", all, Samples{input.discovery_seconds});
  record.facts["datagrams"] = said("fabric.datagrams", input.mads->sent, input.mads->answered,
                                   input.mads->timed_out, input.mads->refused);
}

// What a user named to be written, on rank 0.
void write_texts(const Params& params, const Net& net, const NetShape& shape,
                 const std::vector<NetFinding>& findings) {
  if (params.has("save")) write_file_atomically(params.text("save"), ibnetdiscover_text(net));
  if (params.has("dot")) write_file_atomically(params.text("dot"), dot_text(net, shape, findings));
}

// The picture and the map of leaves, and the layout that both stand on as a fact: the report draws
// it again with its verdicts, and --leaf-map reads it from the record.
void write_layout(Record& record, const Params& params, FabricLayout layout) {
  record.facts[kLayoutFact] = layout_text(layout);
  if (params.has("leaf-map-out"))
    write_file_atomically(params.text("leaf-map-out"), leaf_map_text(layout));
  if (!params.has("picture")) return;
  std::vector<PictureMark> marks;
  for (const LayoutFinding& finding : layout.findings) marks.push_back(usual_mark(finding));
  const Lang lang = params.text("picture-language") == "zh" ? Lang::zh : Lang::en;
  write_file_atomically(params.text("picture"),
                        fabric_svg_file({std::move(layout), std::move(marks), lang}));
}

constexpr std::array kOutputs{"save", "dot", "picture", "leaf-map-out"};

// Every file that the parameter names, with its option.
void add_named(const Params& params, const std::string& name, std::vector<NamedFile>& out) {
  if (!params.has(name)) return;
  for (const std::string& file : params.texts(name)) out.push_back({"--" + name, file});
}

bool is_standard_output(const std::string& file) {
  return file == kStandardOutput || file == "/dev/stdout" || file == "/dev/fd/1" ||
         file == "/proc/self/fd/1";
}

void check_input(const Params& params, Problems& problems) {
  std::vector<NamedFile> outputs, inputs;
  for (const char* name : kOutputs) add_named(params, name, outputs);
  for (const char* name : {"from", "before", "plan"}) add_named(params, name, inputs);
  for (const auto& [option, file] : outputs) {
    if (is_standard_output(file))
      problems.add(option, "is written to a file: the findings stand on standard output");
    else if (const auto campaign = campaign_around(file))
      problems.add(option, fmt::format("{} lies in the campaign {}: name a file outside of it",
                                       file, campaign->string()));
    else if (const auto why = why_not_writable(file))
      problems.add(option, *why);
  }
  refuse_equal_files(outputs, inputs, problems);
  if (params.has("mkey") && !net::parse_management_key(params.text("mkey")))
    problems.add("--mkey", said("fabric.bad_key"));
}

std::vector<Record> run(Context& context, const Params& params) {
  Record record{.case_name = "fabric", .params = params};
  const net::FabricInput input = net::read_fabric(context, params);
  if (!context.comm.is_root()) return {std::move(record)};
  if (input.unavailable) {
    record.outcome = Skipped{*input.unavailable};
    return {std::move(record)};
  }
  const NetShape shape = shape_of(input.net);
  std::vector<NetFinding> findings = irregularities(input.net, shape), drawn_besides;
  const auto add = [&](std::vector<NetFinding> more) {
    std::ranges::move(more, std::back_inserter(findings));
  };
  add(state_findings(input.net, shape));
  add(counter_findings(input.net));
  RouteReport routes = follow_routes(input.net, shape);
  add(std::move(routes.findings));
  if (params.has("max-oversubscription"))
    oversubscribed(input.net, shape, params.number("max-oversubscription"), findings);
  if (input.before) add(changes_since(*input.before, input.net));
  if (!input.plan.empty()) {
    PlanDifference difference = against_plan(input.net, input.plan);
    add(std::move(difference.findings));
    for (const std::string& link : difference.at_other_ports)
      drawn_besides.push_back({kOtherPorts, link, {}});
    if (!difference.at_other_ports.empty())
      record.notes.push_back(said("fabric.other_ports", difference.at_other_ports.size(),
                                  difference.at_other_ports.front()));
  }
  write_texts(params, input.net, shape, findings);
  drawn_besides.insert(drawn_besides.begin(), findings.begin(), findings.end());
  write_layout(record, params, layout_of(input.net, shape, drawn_besides));
  add_source(record, input);
  add_shape(record, input.net, shape);
  add_routes(record, input.net, routes);
  add_counters(record, input.net);
  add_checks(record, findings, input, params);
  return {std::move(record)};
}

}  // namespace

Case fabric_case() { return {describe(), run, check_input}; }

}  // namespace cb
