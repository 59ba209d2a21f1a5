#include "bench/network/verbs/setup.h"

#include <algorithm>
#include <functional>
#include <set>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/network/verbs/connect.h"
#include "bench/network/verbs/memory.h"
#include "bench/network/verbs/rails.h"
#include "model/lossless.h"
#include "model/network_ceiling.h"
#include "model/pcie.h"

namespace cb::verbs {
namespace {

std::string pack(const std::vector<RailLimits>& limits) {
  std::string out;
  for (const RailLimits& l : limits)
    out += fmt::format("{} {} {} {} {} {} {} {}\n", l.name, l.link_bits_per_second.value_or(0),
                       l.ethernet ? 1 : 0, l.ipv6 ? 1 : 0, l.mtu, l.active_mtu,
                       l.slot_bytes_per_second.value_or(0), l.slot);
  return out;
}

std::vector<RailLimits> unpack(const std::string& text) {
  std::vector<RailLimits> out;
  std::istringstream in(text);
  RailLimits l;
  double link = 0, slot = 0;
  while (in >> l.name >> link >> l.ethernet >> l.ipv6 >> l.mtu >> l.active_mtu >> slot &&
         std::getline(in >> std::ws, l.slot)) {
    l.link_bits_per_second = link > 0 ? std::optional(link) : std::nullopt;
    l.slot_bytes_per_second = slot > 0 ? std::optional(slot) : std::nullopt;
    out.push_back(l);
  }
  return out;
}

// Returns every rank's text, on every rank. Texts must hold no form feed.
std::vector<std::string> all_gather(Comm& comm, const std::string& mine) {
  std::string joined;
  for (const std::string& blob : comm.gather(mine)) joined += blob + '\f';
  joined = comm.broadcast_text(std::move(joined));
  std::vector<std::string> out;
  for (size_t begin = 0; begin < joined.size();) {
    const size_t end = joined.find('\f', begin);
    out.push_back(joined.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

std::string down_ports(const std::vector<RdmaPort>& ports) {
  std::string out;
  for (const RdmaPort& p : ports) {
    if (!p.active()) out += fmt::format(", {} is {}", p.name(), p.state);
  }
  return out;
}

// With a single host, its ranks are the nodes: each gets one of the named NICs.
std::vector<RdmaPort> share_of(std::vector<RdmaPort> rails, const RankMap& place) {
  if (place.hosts.size() > 1 || place.local_size == 1 || rails.size() < 2) return rails;
  return {rails[static_cast<size_t>(place.local_rank) % rails.size()]};
}

// Every rank must have the same number of rails; otherwise each host is named once.
void require_equal_counts(Context& context, const std::vector<RdmaPort>& rails,
                          const std::vector<RdmaPort>& ports, const OptionNames& names) {
  const auto mine = static_cast<double>(rails.size());
  Problems problems;
  if (context.comm.min(mine) < context.comm.max(mine))
    problems.add("--rails", fmt::format("{} has {} of them{}; every host needs as many: mend it or "
                                        "name the NICs (--rails mlx5_0,host:mlx5_4)",
                                        context.place.host, rails.size(), down_ports(ports)));
  throw_agreed(context.comm, names.subject, problems);
}

void gather_limits(Context& context, Setup& setup) {
  std::vector<RailLimits> mine;
  for (const RdmaPort& port : setup.rails) {
    mine.push_back(rail_limits(port));
    try {
      const ibv_port_attr& attributes = setup.pool->get(port)->port;
      mine.back().active_mtu = static_cast<int>(mtu_bytes(attributes.active_mtu));
      mine.back().mtu = static_cast<int>(mtu_bytes(attributes.max_mtu));
    } catch (const std::exception&) {
      // The pairs of this port will report it.
    }
  }
  const auto all = all_gather(context.comm, pack(mine));
  for (const auto& ranks : setup.nodes.ranks) {
    setup.limits.push_back(unpack(all[static_cast<size_t>(ranks.front())]));
    setup.rail_names.emplace_back();
    for (const RailLimits& l : setup.limits.back()) setup.rail_names.back().push_back(l.name);
  }
}

// Sets the slot that the NIC was built for; if it does not tell, the negotiated one.
void add_slot(const RdmaPort& port, RailLimits& out) {
  const bool built = port.pcie_max_generation && port.pcie_max_lanes;
  const auto generation = built ? port.pcie_max_generation : port.pcie_generation;
  const auto lanes = built ? port.pcie_max_lanes : port.pcie_lanes;
  if (!generation || !lanes) return;
  out.slot_bytes_per_second = pcie_bytes_per_second(*generation, *lanes);
  out.slot = fmt::format("generation {} ×{}", *generation, *lanes);
  const bool less = port.pcie_generation && port.pcie_lanes &&
                    (*port.pcie_generation < *generation || *port.pcie_lanes < *lanes);
  if (less)
    out.slot += fmt::format(", in use generation {} ×{}", *port.pcie_generation, *port.pcie_lanes);
}

}  // namespace

RailLimits rail_limits(const RdmaPort& port) {
  RailLimits out{.name = port.name(), .ethernet = port.ethernet(), .slot = "unknown"};
  // A device without a slot is software: its link rate is a fixed number without meaning.
  if (!port.pci_address) return out;
  if (port.signal_bits_per_second)
    out.link_bits_per_second =
        port.ethernet() ? *port.signal_bits_per_second
                        : infiniband_data_bits_per_second(*port.signal_bits_per_second, port.link);
  add_slot(port, out);
  const RdmaGid* gid = best_gid(port);
  out.ipv6 = gid != nullptr && !gid->is_ipv4();
  return out;
}

Said why_no_port(const FsRoot& fs) {
  const std::vector<RdmaPort> ports = rdma_ports(fs);
  if (ports.empty()) return "no RDMA device: is the driver loaded (ls /sys/class/infiniband)?";
  const bool active = std::any_of(ports.begin(), ports.end(), std::mem_fn(&RdmaPort::active));
  return active ? "" : fmt::format("no active RDMA port{}", down_ports(ports));
}

Setup set_up(Context& context, const std::vector<std::string>& asked, const OptionNames& names) {
  Setup setup;
  setup.nodes = net::nodes_of(context.place);
  setup.pool = std::make_shared<DevicePool>(context.place.host);
  setup.notes = notes_of_rails(asked, context.place.hosts);
  const std::vector<RdmaPort> ports = rdma_ports(context.fs);
  Problems problems;
  setup.rails = share_of(
      choose_rails(asked, ports, context.place.host, context.place.hosts, problems), context.place);
  throw_agreed(context.comm, names.subject, problems);
  require_equal_counts(context, setup.rails, ports, names);
  if (setup.rails.empty()) {
    setup.skip = ports.empty()
                     ? said("verbs.no_device", context.place.host)
                     : said("verbs.no_active_ports", context.place.host, down_ports(ports));
    return setup;
  }
  const bool shared = context.place.hosts.size() > 1;
  for (size_t i = 0; i < setup.rails.size(); ++i) {
    const auto driver = static_cast<int>(i) % context.place.local_size;
    if (!shared || driver == context.place.local_rank) setup.driven.push_back(setup.rails[i]);
  }
  gather_limits(context, setup);
  return setup;
}

namespace {

Said mtu_text(const RailLimits& l, int mtu) {
  const Said text = std::to_string(mtu);
  return l.active_mtu > 0 && l.active_mtu < mtu ? said("verbs.in_use", text, l.active_mtu) : text;
}

}  // namespace

std::optional<Ceiling> Setup::ceiling(const net::RailPair& pair, const Spec& spec) const {
  std::optional<Ceiling> out;
  const auto lower = [&out](double value, Said how) {
    if (!out || value < out->value) out = Ceiling{value, std::move(how)};
  };
  const int times = spec.two_way ? 2 : 1;
  const auto both = [&spec](const Said& how) {
    return spec.two_way ? said("said.both_directions", how) : how;
  };
  for (const auto& [node, rail] :
       {std::pair(pair.from, pair.from_rail), std::pair(pair.to, pair.to_rail)}) {
    const RailLimits& l = limits.at(static_cast<size_t>(node)).at(static_cast<size_t>(rail));
    const int mtu = spec.mtu > 0 ? spec.mtu : l.mtu;
    if (!l.link_bits_per_second || mtu == 0) return std::nullopt;
    const Wire wire = !l.ethernet ? Wire::infiniband
                      : l.ipv6    ? Wire::roce_v2_ipv6
                                  : Wire::roce_v2_ipv4;
    const double share = payload_share(wire, spec.bytes, mtu);
    lower(*l.link_bits_per_second / 8 * share * times,
          both(said("verbs.wire", fmt::format("{:.0f}", *l.link_bits_per_second / 1e9),
                    fmt::format("{:.1f}", share * 100), mtu_text(l, mtu))));
    if (l.slot_bytes_per_second)
      lower(*l.slot_bytes_per_second * times,
            both(said("verbs.slot", l.slot, l.name,
                      fmt::format("{:.1f}", *l.slot_bytes_per_second / 1e9))));
  }
  return out;
}

void Setup::describe(Record& record) const {
  record.notes.insert(record.notes.end(), notes.begin(), notes.end());
  if (std::any_of(rails.begin(), rails.end(), [](const RdmaPort& p) { return p.driver == "rxe"; }))
    record.notes.push_back(said("verbs.soft_roce"));
}

namespace {

// Collective. "h2, h3": the first hosts on which a rank lacks something; empty if none does.
std::string hosts_that_lack(Context& context, bool lacks) {
  constexpr size_t kMostNamed = 8;
  std::vector<std::string> names;
  for (const std::string& host : context.comm.gather(lacks ? context.place.host : "")) {
    if (!host.empty() && std::ranges::find(names, host) == names.end()) names.push_back(host);
  }
  const std::string more =
      names.size() > kMostNamed ? fmt::format(" and {} more", names.size() - kMostNamed) : "";
  names.resize(std::min(names.size(), kMostNamed));
  return context.comm.broadcast_text(fmt::format("{}{}", fmt::join(names, ", "), more));
}

}  // namespace

Said need_gpus(Context& context, Setup& setup, const Params& params) {
  Gpus found = visible_gpus();
  const auto count = static_cast<int64_t>(found.pci_addresses.size());
  Said reason;
  if (!found.absent.empty())
    reason = said("said.of", context.place.host, found.absent);
  else if (params.has("gpu") && params.integer("gpu") >= count)
    reason = said("verbs.no_gpu", context.place.host, params.integer("gpu"), count);
  setup.gpus = std::move(found.pci_addresses);
  const std::string lacking = hosts_that_lack(context, !reason.empty());
  return reason.empty() && !lacking.empty() ? said("verbs.gpu_missing_on", lacking) : reason;
}

namespace {

// Finds the most inline data that the device takes, by bisection.
int most_inline(const Device& device, const Spec& spec, int asked) {
  const CqPtr cq(ibv_create_cq(device.context.get(), 1, nullptr, nullptr, 0));
  const auto takes = [&](int bytes) {
    try {
      make_queue_pair(device, spec, Service::rc, cq.get(), cq.get(), 1, 1,
                      static_cast<uint32_t>(bytes));
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  if (takes(asked)) return asked;
  int low = 0, high = asked;
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    (takes(middle) ? low : high) = middle;
  }
  return low;
}

void check_point(const Device& device, const Spec& spec, const OptionNames& names,
                 std::set<std::string>& wrong) {
  for (std::string& one : unsupported(device, spec, names)) wrong.insert(std::move(one));
  if (spec.gid_index) choose_gid(device, spec);
  if (spec.inline_bytes && *spec.inline_bytes > 0) {
    const int most = most_inline(device, spec, *spec.inline_bytes);
    if (most < *spec.inline_bytes)
      wrong.insert(fmt::format("--inline {} is more than the {} bytes that {} takes",
                               *spec.inline_bytes, most, device.name()));
  }
}

}  // namespace

void require_supported(Context& context, const Setup& setup, const std::vector<Point>& points,
                       const OptionNames& names) {
  std::set<std::string> wrong;
  for (const RdmaPort& port : setup.rails) {
    std::shared_ptr<const Device> device;
    try {
      device = setup.pool->get(port);
    } catch (const std::exception&) {
      continue;  // only the pairs of this port fail, and they say why
    }
    try {
      for (const Point& point : points) check_point(*device, point.spec, names, wrong);
    } catch (const UsageError& e) {
      for (const Problem& p : e.problems().list) wrong.insert(p.where + " " + p.what);
    }
  }
  Problems problems;
  for (const std::string& one : wrong) {
    const size_t space = one.find(' ');
    problems.add(one.substr(0, space), one.substr(space + 1));
  }
  throw_agreed(context.comm, names.subject, problems);
}

CounterWatch::CounterWatch(const FsRoot& fs, const Setup& setup) : fs_(fs), setup_(setup) {
  for (const RdmaPort& port : setup.driven) before_.push_back(read_rdma_counters(fs, port));
}

void CounterWatch::check_lossless(const RdmaPort& port, size_t nic,
                                  const std::map<std::string, double>& deltas, Record& record) {
  const Lossless l = judge_lossless(deltas);
  record.checks.push_back(
      {.name = "lossless",
       .passed = l.passed,
       .value = l.known ? std::optional(l.lost) : std::nullopt,
       .limit = 0,
       .entity = nic,
       .detail = l.known ? l.summary : said("verbs.no_drop_counter", port.name()),
       .finding = true});
  record.notes.push_back(said("verbs.of_port", record.entities[nic].host, port.name(), l.summary));
}

// A drop that the kernel has not asked the device for yet must not pass as no drop.
void CounterWatch::await_fresh() const {
  std::chrono::milliseconds longest{0};
  for (const RdmaPort& port : setup_.driven)
    longest = std::max(longest, rdma_counters_age(fs_, port));
  if (fs_.is_machine()) std::this_thread::sleep_for(longest);
}

void CounterWatch::stop(Record& record, const Context& context, bool lossless) {
  await_fresh();
  for (size_t i = 0; i < before_.size(); ++i) {
    const RdmaPort& port = setup_.driven[i];
    const RdmaCounters after = read_rdma_counters(fs_, port);
    const size_t nic = record.entity({context.place.host, "nic", port.name()});
    std::map<std::string, double> deltas;
    for (const auto& [name, value] : after) {
      const auto before = before_[i].find(name);
      // A counter that went backwards was reset: it has no delta.
      if (before == before_[i].end() || value < before->second) continue;
      deltas[name] = value - before->second;
      if (is_saturated(name, value))
        record.notes.push_back(said("verbs.saturated", context.place.host, port.name(), name));
      if (value > before->second || is_fault_counter(name) || is_congestion_counter(name))
        record.telemetry.deltas.push_back({name, "count", nic, before->second, value});
    }
    if (lossless) check_lossless(port, nic, deltas, record);
  }
}

}  // namespace cb::verbs
