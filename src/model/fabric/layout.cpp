// Groups a subnet's switches for its picture.
#include "model/fabric/layout.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <span>
#include <tuple>

#include <fmt/format.h>

#include "core/natural_order.h"
#include "core/text.h"
#include "model/fabric/layout_places.h"

namespace cb {
namespace {

bool natural_less(const std::string& a, const std::string& b) { return natural_compare(a, b) < 0; }

// A switch on its way into a group.
struct Arranged {
  size_t node = 0;
  int row = 0;
  size_t pod = 0;
  std::string rail = {};
};

class Arranger {
 public:
  Arranger(const Net& net, const NetShape& shape) : net_(net), shape_(shape) {
    for (size_t i = 0; i < net.nodes.size(); ++i) {
      if (net.nodes[i].kind != NetNodeKind::network_switch) continue;
      place_[i] = switches_.size();
      ++named_[net.nodes[i].name];
      switches_.push_back({i, row_of(i)});
    }
    find_rails();
    find_pods();
  }

  FabricLayout take() {
    std::ranges::stable_sort(switches_, [&](const Arranged& a, const Arranged& b) {
      const auto head = [](const Arranged& s) { return std::tuple(s.row, s.pod); };
      if (head(a) != head(b)) return head(a) < head(b);
      if (a.rail != b.rail) return natural_less(a.rail, b.rail);
      return natural_less(net_.nodes[a.node].name, net_.nodes[b.node].name);
    });
    for (auto begin = switches_.begin(); begin != switches_.end();) {
      const auto end =
          std::find_if(begin, switches_.end(), [&](const auto& s) { return s.row != begin->row; });
      add_row({begin, end});
      begin = end;
    }
    for (size_t i = 0; i < out_.switches.size(); ++i) place_[order_[i]] = i;
    add_hosts();
    add_bundles();
    out_.tiers = shape_.tiers;
    out_.hosts = shape_.hosts;
    out_.adapters = shape_.adapters;
    out_.links = net_.links.size();
    return std::move(out_);
  }

  // Of each switch's node: its place in FabricLayout::switches. After take().
  const std::map<size_t, size_t>& places() const { return place_; }

 private:
  // Switches that no leaf leads to stand above all others.
  int row_of(size_t node) const {
    return shape_.tier[node] >= 0 ? shape_.tier[node] : static_cast<int>(shape_.tiers);
  }
  int top() const { return static_cast<int>(shape_.tiers) - 1; }

  template <typename F>
  void each_switch_link(F take) const {
    for (const NetLink& link : net_.links) {
      const auto a = place_.find(link.a.node), b = place_.find(link.b.node);
      if (a != place_.end() && b != place_.end()) take(a->second, b->second);
    }
  }

  // A leaf's rail is the NIC that kRailShare of its adapters have, another switch's the one that
  // all below it have.
  void find_rails() {
    std::vector<std::map<std::string, size_t>> nics(switches_.size());
    const auto count = [&](const NetEnd& leaf, const NetEnd& adapter) {
      const auto at = place_.find(leaf.node);
      const NetNode& node = net_.nodes[adapter.node];
      if (at != place_.end() && node.kind == NetNodeKind::adapter && !node.aggregates())
        ++nics[at->second][node.nic()];
    };
    for (const NetLink& link : net_.links) {
      count(link.a, link.b);
      count(link.b, link.a);
    }
    for (size_t i = 0; i < switches_.size(); ++i) {
      size_t all = 0;
      for (const auto& [nic, n] : nics[i]) all += n;
      for (const auto& [nic, n] : nics[i]) {
        if (static_cast<double>(n) >= kRailShare * static_cast<double>(all))
          switches_[i].rail = nic;
      }
    }
    for (int row = 1; row <= top(); ++row) hand_up(row);
  }

  void hand_up(int row) {
    std::map<size_t, std::set<std::string>> below;
    const auto note = [&](size_t lower, size_t upper) {
      if (switches_[upper].row == row && switches_[lower].row < row)
        below[upper].insert(switches_[lower].rail);
    };
    each_switch_link([&](size_t a, size_t b) {
      note(a, b);
      note(b, a);
    });
    for (const auto& [upper, rails] : below) {
      if (rails.size() == 1) switches_[upper].rail = *rails.begin();
    }
  }

  // What hangs together without the highest of at least three tiers.
  void find_pods() {
    if (shape_.tiers < 3) return;
    std::vector<size_t> root(switches_.size());
    std::iota(root.begin(), root.end(), size_t{0});
    const auto find = [&](size_t i) {
      while (root[i] != i) i = root[i] = root[root[i]];
      return i;
    };
    each_switch_link([&](size_t a, size_t b) {
      if (switches_[a].row < top() && switches_[b].row < top()) root[find(a)] = find(b);
    });
    std::map<size_t, std::string> first;  // by root: the first of its leaves' names
    for (size_t i = 0; i < switches_.size(); ++i) {
      if (switches_[i].row >= top()) continue;
      const std::string& name = net_.nodes[switches_[i].node].name;
      const auto [at, fresh] = first.try_emplace(find(i), name);
      if (!fresh && natural_less(name, at->second)) at->second = name;
    }
    std::vector<std::pair<std::string, size_t>> order;
    for (const auto& [r, name] : first) order.emplace_back(name, r);
    std::ranges::sort(order, [](const auto& a, const auto& b) {
      return a.first != b.first ? natural_less(a.first, b.first) : a.second < b.second;
    });
    std::map<size_t, size_t> number;
    for (size_t i = 0; i < order.size(); ++i) number[order[i].second] = i + 1;
    if (order.size() < 2) return;
    for (size_t i = 0; i < switches_.size(); ++i) {
      if (switches_[i].row < top()) switches_[i].pod = number.at(find(i));
    }
  }

  // Pods and rails of switches of one row, from the finest division that has few enough groups.
  using GroupKey = std::tuple<size_t, std::string, size_t>;
  static std::vector<GroupKey> divided(std::span<const Arranged> row) {
    if (row.size() <= kSingleSwitches) {
      std::vector<GroupKey> each;
      for (size_t i = 0; i < row.size(); ++i) each.emplace_back(row[i].pod, row[i].rail, i + 1);
      return each;
    }
    size_t pods = 0;
    for (const Arranged& s : row) pods = std::max(pods, s.pod);
    // Pods share boxes where there are too many of them.
    const size_t shared = std::max<size_t>(1, (pods + kLayoutGroups - 1) / kLayoutGroups);
    const auto keys_of = [&](bool by_pod, bool by_rail) {
      std::vector<GroupKey> keys;
      for (const Arranged& s : row)
        keys.emplace_back(by_pod ? (s.pod + shared - 1) / shared : 0, by_rail ? s.rail : "", 0);
      return keys;
    };
    const auto fits = [](const std::vector<GroupKey>& keys, size_t most) {
      return std::set(keys.begin(), keys.end()).size() <= most;
    };
    const auto by_both = keys_of(true, true);
    if (shared == 1 && fits(by_both, kSingleSwitches)) return by_both;
    if (pods > 0) return keys_of(true, false);
    const auto by_rail = keys_of(false, true);
    return fits(by_rail, kLayoutGroups) ? by_rail : keys_of(false, false);
  }

  void add_row(std::span<const Arranged> row) {
    const std::vector<GroupKey> keys = divided(row);
    std::map<GroupKey, std::vector<Arranged>> groups;
    for (size_t i = 0; i < row.size(); ++i) groups[keys[i]].push_back(row[i]);
    std::vector<std::vector<Arranged>> order;
    // Groups that are one for each pod are named by rails only if all have one.
    std::set<size_t> pods;
    bool rails = true, single = false;
    for (const auto& [key, members] : groups) {
      pods.insert(std::get<0>(key));
      rails = rails && !std::get<1>(key).empty();
      single = single || std::get<2>(key) > 0;
    }
    const bool by_pod = !single && !rails && pods.size() == groups.size();
    for (auto& [key, members] : groups) {
      if (by_pod) {
        for (Arranged& s : members) s.rail.clear();
      }
      order.push_back(std::move(members));
    }
    // By the place of their first switch in the sorted row.
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) {
      if (a.front().pod != b.front().pod) return a.front().pod < b.front().pod;
      return natural_less(a.front().rail, b.front().rail);
    });
    for (const std::vector<Arranged>& members : order) add_group(members);
  }

  void add_group(const std::vector<Arranged>& members) {
    LayoutGroup group{.tier = members.front().row,
                      .rail = members.front().rail,
                      .pod = members.front().pod,
                      .last_pod = members.front().pod};
    for (const Arranged& s : members) {
      if (s.rail != group.rail) group.rail.clear();
      group.pod = std::min(group.pod, s.pod);
      group.last_pod = std::max(group.last_pod, s.pod);
      out_.switches.push_back({name_of(net_.nodes[s.node]), out_.groups.size()});
      order_.push_back(s.node);
    }
    out_.groups.push_back(std::move(group));
  }

  // Switches of one description, as they leave the factory, are told apart by their GUIDs.
  std::string name_of(const NetNode& node) const {
    return named_.at(node.name) > 1 ? fmt::format("{} ({})", node.name, node.id) : node.name;
  }

  void add_hosts() {
    const auto add = [&](const NetEnd& leaf, const NetEnd& adapter) {
      const auto at = place_.find(leaf.node);
      const NetNode& node = net_.nodes[adapter.node];
      if (at != place_.end() && node.kind == NetNodeKind::adapter && !node.aggregates())
        out_.switches[at->second].hosts[node.nic()].push_back(node.host());
    };
    for (const NetLink& link : net_.links) {
      add(link.a, link.b);
      add(link.b, link.a);
    }
    for (LayoutSwitch& s : out_.switches) {
      for (auto& [nic, hosts] : s.hosts) std::ranges::sort(hosts, natural_less);
    }
  }

  void add_bundles() {
    std::map<std::pair<size_t, size_t>, size_t> links;
    each_switch_link([&](size_t a, size_t b) {
      size_t lower = out_.switches[a].group, upper = out_.switches[b].group;
      if (lower == upper) {
        ++out_.groups[lower].links_within;
        return;
      }
      if (upper < lower) std::swap(lower, upper);
      ++links[{lower, upper}];
    });
    for (const auto& [ends, n] : links) out_.bundles.push_back({ends.first, ends.second, n});
  }

  const Net& net_;
  const NetShape& shape_;
  std::map<size_t, size_t> place_;  // node → switches_; after take(): → FabricLayout::switches
  std::map<std::string, size_t> named_;  // number of switches by name
  std::vector<Arranged> switches_;
  std::vector<size_t> order_;  // node of each of FabricLayout::switches
  FabricLayout out_;
};

// Of each kind the same number, so that many of one do not hide the others.
std::vector<const NetFinding*> drawn_findings(const std::vector<NetFinding>& findings) {
  std::map<std::string, std::vector<size_t>> by_kind;
  for (size_t i = 0; i < findings.size(); ++i) by_kind[findings[i].kind].push_back(i);
  std::set<size_t> chosen;
  for (size_t turn = 0; chosen.size() < std::min(findings.size(), kLayoutFindings); ++turn) {
    for (const auto& [kind, list] : by_kind) {
      if (turn < list.size() && chosen.size() < kLayoutFindings) chosen.insert(list[turn]);
    }
  }
  std::vector<const NetFinding*> out;
  for (const size_t i : chosen) out.push_back(&findings[i]);
  return out;
}

// A device's text as one word of a leaf map: no blanks, no sign that a terminal obeys, no # in
// front, where a comment would begin.
std::string word_of(const std::string& text) {
  std::string out = terminal_safe(text);
  std::ranges::replace(out, ' ', '_');
  if (out.empty() || out.front() == '#') out.replace(0, std::min<size_t>(out.size(), 1), "_");
  return out;
}

}  // namespace

size_t LayoutSwitch::adapters() const {
  size_t out = 0;
  for (const auto& [nic, list] : hosts) out += list.size();
  return out;
}

FabricLayout layout_of(const Net& net, const NetShape& shape,
                       const std::vector<NetFinding>& findings) {
  Arranger arranger(net, shape);
  FabricLayout out = arranger.take();
  const FindingPlaces places(net, arranger.places());
  for (const NetFinding* finding : drawn_findings(findings))
    out.findings.push_back({finding->kind, finding->part, places.of(*finding)});
  out.findings_left_out = findings.size() - out.findings.size();
  return out;
}

std::string leaf_map_text(const FabricLayout& layout) {
  std::vector<std::array<std::string, 3>> lines;
  std::set<std::string> leaves;
  for (const LayoutSwitch& s : layout.switches) {
    // Two leaves stay two, also where what a word cannot have made them alike.
    const std::string plain = word_of(s.name);
    std::string leaf = plain;
    for (int n = 2; !leaves.insert(leaf).second; ++n) leaf = fmt::format("{}~{}", plain, n);
    for (const auto& [nic, hosts] : s.hosts) {
      for (const std::string& host : hosts)
        lines.push_back({word_of(host), nic.empty() ? "" : word_of(nic), leaf});
    }
  }
  std::ranges::sort(lines, [](const auto& a, const auto& b) {
    if (a[0] != b[0]) return natural_less(a[0], b[0]);
    return natural_less(a[1], b[1]);
  });
  std::string out = "# HOST NIC LEAF, written by clusterbench fabric --leaf-map-out\n";
  for (const auto& [host, nic, leaf] : lines)
    out += fmt::format("{}{}{} {}\n", host, nic.empty() ? "" : " ", nic, leaf);
  return out;
}

}  // namespace cb
