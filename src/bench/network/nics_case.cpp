// The state of every RDMA port as its host sees it: rate, MTU, slot, error counters. Nothing is
// sent and nothing is judged; a profile says what is required. docs/methods/verbs-setup.md.
#include <algorithm>
#include <initializer_list>

#include <fmt/format.h>

#include "bench/cases.h"
#include "bench/network/verbs/rails.h"
#include "core/param_builder.h"
#include "sys/net/rdma_counters.h"
#include "sys/net/verbs.h"

namespace cb {
namespace {

CaseInfo describe() {
  using namespace param;
  const auto lower = Better::lower, higher = Better::higher;
  return {
      .name = "nics",
      .device = "",
      .summary = "state of every RDMA port: rate, MTU, PCIe slot, error counters",
      .example = "clusterbench nics --json n.json",
      .domain = "network",
      .params = {text("rails")
                     .help("NICs, as verbs takes them; host:NIC for one host only")
                     .by_default("auto")
                     .list()},
      .metrics = {{"ports_active", "count", higher, "of the ports that are asked for"},
                  {"rate_bits_per_second", "bits_per_second", higher, "that the port negotiated"},
                  {"mtu_bytes", "bytes", higher, "in use; its ceiling is the port's largest"},
                  {"pcie_lanes_share", "share", higher, "lanes in use over those that it has"},
                  {"pcie_generation_share", "share", higher, "of the slot over the NIC's own"},
                  {"symbol_errors", "count", lower, "running total"},
                  {"link_recoveries", "count", lower, "running total"},
                  {"link_downed", "count", lower, "running total"},
                  {"receive_errors", "count", lower, "running total"}},
      .checks = {},
      .fault = {.why_not = said("fault.counters")},
  };
}

struct Total {
  const char* name;
  std::initializer_list<const char*> counters;
};
// Which counters of /sys and of the interface tell of the same fault.
constexpr Total kTotals[] = {
    {"symbol_errors", {"symbol_error", "eth_rx_symbol_err_phy", "eth_rx_pcs_symbol_err_phy"}},
    {"link_recoveries", {"link_error_recovery", "local_link_integrity_errors"}},
    {"link_downed", {"link_downed", "eth_link_down_events_phy"}},
    {"receive_errors", {"port_rcv_errors", "receive_errors", "eth_rx_crc_errors_phy"}}};

class PortReport {
 public:
  PortReport(Record& record, const Context& context, const RdmaPort& port)
      : record_(record),
        context_(context),
        port_(port),
        entity_(record.entity({context.place.host, "nic", port.name()})) {}

  void add() {
    if (port_.active() && port_.signal_bits_per_second)
      number("rate_bits_per_second", "bits_per_second", *port_.signal_bits_per_second);
    if (port_.active()) add_mtu();
    share("pcie_lanes_share", port_.pcie_lanes, port_.pcie_max_lanes);
    share("pcie_generation_share", port_.pcie_generation, port_.pcie_max_generation);
    add_totals();
  }

 private:
  void number(const char* name, const char* unit, double value) {
    record_.metrics.push_back({.name = name, .unit = unit, .entity = entity_, .samples = {value}});
  }

  void share(const char* name, const std::optional<int>& now, const std::optional<int>& most) {
    if (now && most && *most > 0) number(name, "share", static_cast<double>(*now) / *most);
  }

  // The MTU is not in /sys.
  void add_mtu() {
    try {
      if (!context_.fs.is_machine()) throw Error(said("nics.machine_only"));
      const verbs::ContextPtr device = verbs::open_device(port_.device);
      ibv_port_attr attributes{};
      const auto number_of_port = static_cast<uint8_t>(port_.port);
      if (const int rc = ibv_query_port(device.get(), number_of_port, &attributes); rc != 0)
        verbs::fail("ibv_query_port", port_.name(), rc);
      number("mtu_bytes", "bytes", verbs::mtu_bytes(attributes.active_mtu));
      record_.metrics.back().ceiling =
          Ceiling{static_cast<double>(verbs::mtu_bytes(attributes.max_mtu)), said("nics.largest")};
    } catch (const std::exception& e) {
      record_.notes.push_back(said("nics.no_mtu", context_.place.host, port_.name(), said_by(e)));
    }
  }

  // What every Ethernet driver counts, for those that count nothing more exactly.
  void add_of_interface(RdmaCounters& counters) const {
    const std::string interface = "/sys/class/net/" + port_.netdev + "/";
    const auto add = [&](const char* name, const std::string& file) {
      const auto value = context_.fs.integer(interface + file);
      if (value && *value >= 0) counters.try_emplace(name, static_cast<double>(*value));
    };
    add("link_downed", "carrier_down_count");
    add("port_rcv_errors", "statistics/rx_errors");
  }

  void add_totals() {
    RdmaCounters counters = read_rdma_counters(context_.fs, port_);
    if (port_.ethernet() && !port_.netdev.empty()) add_of_interface(counters);
    for (const Total& total : kTotals) {
      double sum = 0;
      bool any = false;
      for (const char* name : total.counters) {
        const auto found = counters.find(name);
        if (found == counters.end()) continue;
        any = true;
        sum += found->second;
      }
      if (!any) continue;
      number(total.name, "count", sum);
      record_.metrics.back().better = Better::lower;
    }
  }

  Record& record_;
  const Context& context_;
  const RdmaPort& port_;
  size_t entity_;
};

// Hosts may be asked for different numbers of ports. But where a name is of no host of the job, and
// numbers differ, it may have been meant for the host that has fewer: that one would go unread.
void require_read(Context& context, const std::vector<RdmaPort>& ports,
                  const std::vector<std::string>& asked) {
  const auto mine = static_cast<double>(ports.size());
  const std::string beside = verbs::hosts_beside(asked, context.place.hosts);
  Problems problems;
  if (context.comm.min(mine) < context.comm.max(mine) && !beside.empty())
    problems.add("--rails", fmt::format("{} has {} of them, another host another number, and {} is "
                                        "not of this job: mend the name, or leave its ports out",
                                        context.place.host, ports.size(), beside));
  throw_agreed(context.comm, "clusterbench nics", problems);
}

std::vector<RdmaPort> ports_asked_for(Context& context, const Params& params) {
  Problems problems;
  const std::vector<std::string> asked = params.texts("rails");
  const std::vector<RdmaPort> all = rdma_ports(context.fs);
  std::vector<RdmaPort> out =
      verbs::choose_rails(asked, all, context.place.host, context.place.hosts, problems);
  throw_agreed(context.comm, "clusterbench nics", problems);
  require_read(context, out, asked);
  return out;
}

std::vector<Record> run(Context& context, const Params& params) {
  Record record{.case_name = "nics",
                .params = params,
                .notes = verbs::notes_of_rails(params.texts("rails"), context.place.hosts)};
  const std::vector<RdmaPort> ports = ports_asked_for(context, params);
  const bool here = context.place.first_on_host();
  if (context.comm.max(ports.empty() ? 1.0 : 0.0) > 0) {
    record.outcome = Skipped{ports.empty() ? said("nics.no_port", context.place.host)
                                           : said("nics.no_port_elsewhere")};
    return {std::move(record)};
  }
  if (!here) return {std::move(record)};
  const size_t host = record.entity({context.place.host, "host", ""});
  const auto active = std::ranges::count_if(ports, [](const RdmaPort& p) { return p.active(); });
  record.metrics.push_back({.name = "ports_active",
                            .unit = "count",
                            .entity = host,
                            .samples = {static_cast<double>(active)}});
  for (const RdmaPort& port : ports) PortReport(record, context, port).add();
  return {std::move(record)};
}

}  // namespace

Case nics_case() { return {describe(), run}; }

}  // namespace cb
