#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/csv_fields.h"
#include "core/error.h"
#include "core/letters.h"
#include "core/suggest.h"
#include "core/text.h"
#include "core/units.h"
#include "model/fabric/findings.h"

namespace cb {
namespace {

constexpr std::array<const char*, 4> kColumns{"a_device", "a_port", "b_device", "b_port"};

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r");
  return begin == std::string::npos
             ? ""
             : text.substr(begin, text.find_last_not_of(" \t\r") + 1 - begin);
}

std::vector<std::string> trimmed_fields(const std::string& line) {
  std::vector<std::string> out = csv_fields(line);
  for (std::string& field : out) field = trimmed(field);
  return out;
}

// "Host01/mlx5_0" is the adapter that describes itself as "host01 mlx5_0".
std::string device_key(const std::string& name) {
  std::string out = in_small_letters(name);
  std::ranges::replace(out, '/', ' ');
  return out;
}

class CablingReader {
 public:
  explicit CablingReader(std::string file) : file_(std::move(file)) {}

  std::vector<PlannedLink> read(const std::string& csv) {
    std::istringstream in(csv.starts_with("\xef\xbb\xbf") ? csv.substr(3) : csv);
    for (std::string line; std::getline(in, line);) {
      ++number_;
      if (trimmed(line).empty()) continue;
      const std::vector<std::string> fields = trimmed_fields(line);
      if (columns_.empty())
        head(fields);
      else
        row(fields);
    }
    if (links_.empty()) throw UsageError(file_, "", said("fabric.empty_plan"));
    return std::move(links_);
  }

 private:
  [[noreturn]] void refuse(const Said& why) const {
    throw UsageError(file_, fmt::format("line {}", number_), why);
  }

  void head(const std::vector<std::string>& fields) {
    for (const char* name : kColumns) {
      const auto at =
          std::ranges::find_if(fields, [&](const auto& f) { return in_small_letters(f) == name; });
      if (at == fields.end()) refuse(said("fabric.no_column", name));
      columns_.push_back(static_cast<size_t>(at - fields.begin()));
    }
  }

  void row(const std::vector<std::string>& fields) {
    PlannedLink link{end(fields, 0), end(fields, 2)};
    if (link.b < link.a) std::swap(link.a, link.b);
    for (const PlannedEnd& e : {link.a, link.b}) {
      const auto [at, fresh] = seen_.try_emplace(e, number_);
      if (!fresh) refuse(said("fabric.port_twice", e.device, e.port, at->second));
    }
    links_.push_back(std::move(link));
  }

  PlannedEnd end(const std::vector<std::string>& fields, size_t first) const {
    const size_t device = columns_[first], port = columns_[first + 1];
    if (std::max(device, port) >= fields.size() || fields[device].empty())
      refuse(said("fabric.bad_row"));
    const auto number = parse_integer(fields[port]);
    if (!number || *number < 0 || *number > 254) refuse(said("fabric.bad_row"));
    return {device_key(fields[device]), static_cast<int>(*number)};
  }

  std::string file_;
  size_t number_ = 0;
  std::vector<size_t> columns_;
  std::map<PlannedEnd, size_t> seen_;
  std::vector<PlannedLink> links_;
};

std::string planned_name(const PlannedEnd& e) {
  return fmt::format("{} port {}", e.device, e.port);
}
std::string planned_name(const PlannedLink& l) {
  return planned_name(l.a) + " – " + planned_name(l.b);
}

PlannedLink as_planned(const Net& net, const NetLink& link) {
  PlannedLink out{{device_key(net.nodes[link.a.node].name), link.a.port},
                  {device_key(net.nodes[link.b.node].name), link.b.port}};
  if (out.b < out.a) std::swap(out.a, out.b);
  return out;
}

using Devices = std::pair<std::string, std::string>;
Devices devices_of(const PlannedLink& l) { return {l.a.device, l.b.device}; }

struct DiffEdge {
  PlannedLink link;
  bool planned = false;
};

// Links at other ports of the same two devices carry the same: as many of the plan as of the subnet
// are taken out of both. Returns those of the plan.
std::vector<std::string> drop_parallel(std::vector<PlannedLink>& planned,
                                       std::vector<PlannedLink>& seen) {
  std::map<Devices, size_t> both;
  for (const PlannedLink& l : planned) ++both[devices_of(l)];
  std::map<Devices, size_t> in_seen;
  for (const PlannedLink& l : seen) ++in_seen[devices_of(l)];
  for (auto& [devices, n] : both) n = std::min(n, in_seen[devices]);
  std::vector<std::string> dropped;
  const auto drop = [&](std::vector<PlannedLink>& links) {
    dropped.clear();
    std::map<Devices, size_t> left = both;
    std::erase_if(links, [&](const PlannedLink& l) {
      size_t& n = left[devices_of(l)];
      if (n == 0) return false;
      --n;
      dropped.push_back(planned_name(l));
      return true;
    });
  };
  drop(seen);
  drop(planned);
  return dropped;
}

// The links that hang together by their ports.
std::vector<std::vector<DiffEdge>> components_by_port(const std::vector<DiffEdge>& edges) {
  std::map<PlannedEnd, std::vector<size_t>> at;
  for (size_t i = 0; i < edges.size(); ++i) {
    at[edges[i].link.a].push_back(i);
    at[edges[i].link.b].push_back(i);
  }
  std::vector<bool> taken(edges.size(), false);
  std::vector<std::vector<DiffEdge>> out;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (taken[i]) continue;
    std::vector<size_t> open{i};
    taken[i] = true;
    out.emplace_back();
    while (!open.empty()) {
      const size_t edge = open.back();
      open.pop_back();
      out.back().push_back(edges[edge]);
      for (const PlannedEnd& end : {edges[edge].link.a, edges[edge].link.b}) {
        for (const size_t next : at[end]) {
          if (!taken[next]) open.push_back(next);
          taken[next] = true;
        }
      }
    }
  }
  return out;
}

std::string list_of(const std::vector<DiffEdge>& edges, bool planned) {
  std::set<std::string> names;
  for (const DiffEdge& e : edges) {
    if (e.planned == planned) names.insert(planned_name(e.link));
  }
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : "; ") + name;
  return out;
}

// The shape of a component; see against_plan().
NetFinding finding_of(const std::vector<DiffEdge>& edges, const std::vector<std::string>& devices) {
  std::set<PlannedEnd> ends;
  size_t planned = 0;
  const PlannedLink* missing = nullptr;
  for (const DiffEdge& e : edges) {
    ends.insert(e.link.a);
    ends.insert(e.link.b);
    planned += e.planned ? 1 : 0;
    if (e.planned && missing == nullptr) missing = &e.link;
  }
  const std::string is = list_of(edges, false), should = list_of(edges, true);
  if (planned == 0) return {"surplus", is, said("fabric.surplus")};
  if (edges.size() == 1) {
    for (const PlannedEnd& end : {missing->a, missing->b}) {
      if (std::ranges::find(devices, end.device) == devices.end())
        return {"missing", should, said("fabric.no_device", unknown_name(end.device, devices))};
    }
    return {"missing", should, said("fabric.missing")};
  }
  const bool cycle = edges.size() == ends.size();
  if (cycle && planned == 2) return {"swapped", should, said("fabric.swapped", is)};
  if (cycle) return {"rotated", should, said("fabric.rotated", planned, is)};
  if (edges.size() == 2) return {"moved", should, said("fabric.moved", is)};
  return {"chain", should, said("fabric.chain", is)};
}

}  // namespace

std::vector<PlannedLink> read_cabling(const std::string& csv, const std::string& file) {
  return CablingReader(file).read(csv);
}

std::vector<PlannedLink> plan_of(const Net& before) {
  std::set<PlannedEnd> used;
  std::vector<PlannedLink> out;
  for (const NetLink& link : before.links) {
    const PlannedLink planned = as_planned(before, link);
    if (used.contains(planned.a) || used.contains(planned.b)) continue;
    used.insert({planned.a, planned.b});
    out.push_back(planned);
  }
  return out;
}

std::vector<NetFinding> changes_since(const Net& before, const Net& net) {
  std::vector<NetFinding> out;
  std::map<std::string, const NetNode*> old;
  for (const NetNode& node : before.nodes) old[node.name] = &node;
  std::set<std::string> names;
  for (const NetNode& node : net.nodes) {
    names.insert(node.name);
    const auto was = old.find(node.name);
    if (was == old.end())
      out.push_back({"new", node.name, said("fabric.new")});
    else if (!was->second->firmware.empty() && !node.firmware.empty() &&
             was->second->firmware != node.firmware)
      out.push_back({"changed", node.name,
                     said("fabric.changed_firmware", was->second->firmware, node.firmware)});
  }
  for (const auto& [name, node] : old) {
    if (!names.contains(name)) out.push_back({"gone", name, said("fabric.gone")});
  }
  std::map<PlannedLink, std::string> rates;
  for (const NetLink& link : before.links) {
    if (link.rate) rates[as_planned(before, link)] = link.rate->text;
  }
  for (const NetLink& link : net.links) {
    const auto was = rates.find(as_planned(net, link));
    if (was != rates.end() && link.rate && link.rate->text != was->second)
      out.push_back({"changed", net.link_name(link),
                     said("fabric.changed_rate", was->second, link.rate->text)});
  }
  return out;
}

PlanDifference against_plan(const Net& net, const std::vector<PlannedLink>& plan) {
  std::set<std::string> in_plan;
  for (const PlannedLink& l : plan) in_plan.insert({l.a.device, l.b.device});
  std::set<PlannedLink> actual;
  for (const NetLink& link : net.links) actual.insert(as_planned(net, link));
  std::vector<PlannedLink> planned, seen;
  for (const PlannedLink& l : plan) {
    if (!actual.contains(l)) planned.push_back(l);
  }
  const std::set<PlannedLink> wanted(plan.begin(), plan.end());
  for (const PlannedLink& l : actual) {
    if (!wanted.contains(l) && (in_plan.contains(l.a.device) || in_plan.contains(l.b.device)))
      seen.push_back(l);
  }
  PlanDifference out{.at_other_ports = drop_parallel(planned, seen)};
  std::vector<DiffEdge> edges;
  for (const PlannedLink& l : planned) edges.push_back({l, true});
  for (const PlannedLink& l : seen) edges.push_back({l, false});
  std::vector<std::string> devices;
  for (const NetNode& node : net.nodes) devices.push_back(device_key(node.name));
  for (const std::vector<DiffEdge>& component : components_by_port(edges))
    out.findings.push_back(finding_of(component, devices));
  return out;
}

}  // namespace cb
