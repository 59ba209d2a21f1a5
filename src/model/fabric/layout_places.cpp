#include "model/fabric/layout_places.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/letters.h"
#include "core/units.h"

namespace cb {
namespace {

std::vector<std::string_view> split_at(std::string_view text, std::string_view by) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t at = text.find(by);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + by.size());
  }
}

// Findings that compare with the plan: `part` is what should be there, and the argument of their
// sentence with this number is what is there instead.
struct PlanKind {
  std::string_view kind;
  std::string_view sentence;
  size_t instead;
};
constexpr std::array<PlanKind, 4> kPlanKinds{{{"swapped", "fabric.swapped", 0},
                                              {"rotated", "fabric.rotated", 1},
                                              {"moved", "fabric.moved", 0},
                                              {"chain", "fabric.chain", 0}}};

}  // namespace

FindingPlaces::FindingPlaces(const Net& net, const std::map<size_t, size_t>& switches)
    : net_(net), switches_(switches) {
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    by_name_[in_small_letters(net.nodes[i].name)].push_back(i);
    if (net.nodes[i].id != net.nodes[i].name)
      by_name_[in_small_letters(net.nodes[i].id)].push_back(i);
  }
  for (const std::vector<NetLink>* links : {&net.one_sided, &net.links}) {
    for (const NetLink& link : *links) {
      peer_[link.a] = link.b;
      peer_[link.b] = link.a;
    }
  }
}

FindingPlaces::Spot FindingPlaces::spot_of(std::string_view text) const {
  Spot out{.nodes = {}, .text = std::string(text)};
  if (const size_t at = text.rfind(" port "); at != std::string_view::npos) {
    if (const auto port = parse_integer(std::string(text.substr(at + 6)))) {
      out.port = static_cast<int>(*port);
      out.text = std::string(text.substr(0, at));
    }
  }
  if (const auto found = by_name_.find(in_small_letters(out.text)); found != by_name_.end()) {
    out.nodes = found->second;
  } else if (out.text.starts_with("LID ")) {
    const auto lid = parse_integer(out.text.substr(4));
    for (const auto& [end, its] : net_.lids) {
      if (lid && its == *lid) out.nodes.push_back(end.node);
    }
  }
  return out;
}

std::optional<size_t> FindingPlaces::switch_at(size_t node) const {
  const auto at = switches_.find(node);
  return at == switches_.end() ? std::nullopt : std::optional(at->second);
}

void FindingPlaces::add_spot(const Spot& spot, std::vector<LayoutPlace>& out) const {
  for (const size_t node : spot.nodes) {
    const auto own = switch_at(node);
    if (own && spot.port <= 0) {
      out.push_back({.from = own});
      continue;
    }
    // A switch's port shows its link; an adapter stands on its leaf.
    for (auto at = peer_.lower_bound({node, own ? spot.port : 0});
         at != peer_.end() && at->first.node == node; ++at) {
      if (spot.port > 0 && at->first.port != spot.port) continue;
      const auto far = switch_at(at->second.node);
      if (own && far)
        out.push_back({.from = std::min(*own, *far), .to = std::max(*own, *far)});
      else if (own)
        out.push_back({.from = own, .host = net_.nodes[at->second.node].name});
      else if (far)
        out.push_back({.from = far, .host = net_.nodes[node].name});
      break;
    }
    const bool silent = own && !peer_.contains({node, spot.port});
    if (silent) out.push_back({.from = own});
  }
}

void FindingPlaces::add_link(std::string_view a, std::string_view b, bool absent,
                             std::vector<LayoutPlace>& out) const {
  const Spot one = spot_of(a), two = spot_of(b);
  const auto switch_of = [&](const Spot& spot) {
    return spot.nodes.empty() ? std::nullopt : switch_at(spot.nodes.front());
  };
  const auto left = switch_of(one), right = switch_of(two);
  if (left && right)
    out.push_back(
        {.from = std::min(*left, *right), .to = std::max(*left, *right), .absent = absent});
  else if (left || right)
    out.push_back(
        {.from = left ? left : right, .host = left ? two.text : one.text, .absent = absent});
}

void FindingPlaces::add_list(std::string_view list, bool absent,
                             std::vector<LayoutPlace>& out) const {
  for (const std::string_view item : split_at(list, "; ")) {
    const auto ends = split_at(item, " – ");
    if (ends.size() == 2) {
      add_link(ends[0], ends[1], absent, out);
      continue;
    }
    for (const std::string_view device : split_at(item, " → ")) add_spot(spot_of(device), out);
  }
}

std::vector<LayoutPlace> FindingPlaces::of(const NetFinding& finding) const {
  std::vector<LayoutPlace> out;
  const auto* const plan = std::ranges::find(kPlanKinds, finding.kind, &PlanKind::kind);
  const bool of_plan = plan != kPlanKinds.end();
  add_list(finding.part, of_plan || finding.kind == "missing", out);
  const Message& what = finding.what.message();
  if (of_plan && what.id == plan->sentence && plan->instead < what.args.size())
    add_list(what.args[plan->instead].in(Lang::en).value_or(""), false, out);
  // A link that two findings' ends share is drawn once.
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace cb
