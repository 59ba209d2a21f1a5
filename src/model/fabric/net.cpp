#include "model/fabric/net.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "core/units.h"

namespace cb {
namespace {

struct LaneSpeed {
  const char* name;
  double gigabits_per_second;
};
constexpr std::array<LaneSpeed, kLaneSpeeds> kSpeeds{{{"SDR", 2.5},
                                                      {"DDR", 5},
                                                      {"QDR", 10},
                                                      {"FDR10", 10.3125},
                                                      {"FDR", 14.0625},
                                                      {"EDR", 25.78125},
                                                      {"HDR", 53.125},
                                                      {"NDR", 106.25},
                                                      {"XDR", 212.5}}};

}  // namespace

bool NetNode::aggregates() const { return name.find("Aggregation Node") != std::string::npos; }

std::string NetNode::host() const { return name.substr(0, name.find(' ')); }

std::string NetNode::nic() const {
  const size_t blank = name.find(' ');
  if (blank == std::string::npos) return "";
  const std::string rest = name.substr(blank + 1);
  return rest.substr(0, rest.find(' '));
}

std::optional<LinkRate> parse_link_rate(const std::string& text) {
  const size_t x = text.find('x');
  if (x == std::string::npos) return std::nullopt;
  const auto lanes = parse_integer(text.substr(0, x));
  if (!lanes || *lanes < 1 || *lanes > 12) return std::nullopt;
  for (const LaneSpeed& speed : kSpeeds) {
    if (text.substr(x + 1) == speed.name)
      return LinkRate{static_cast<int>(*lanes), speed.gigabits_per_second * 1e9, text};
  }
  return std::nullopt;
}

const char* lane_speed(unsigned bit) { return kSpeeds.at(bit).name; }

std::optional<LinkRate> best_rate(unsigned widths, unsigned speeds, int widest) {
  constexpr std::array<int, 5> kLanes{1, 4, 8, 12, 2};  // by bit
  int lanes = 0;
  for (unsigned bit = 0; bit < kLanes.size(); ++bit) {
    if ((widths >> bit & 1) != 0 && kLanes[bit] <= widest) lanes = std::max(lanes, kLanes[bit]);
  }
  for (unsigned bit = kLaneSpeeds; bit-- > 0;) {
    if (lanes > 0 && (speeds >> bit & 1) != 0)
      return parse_link_rate(fmt::format("{}x{}", lanes, lane_speed(bit)));
  }
  return std::nullopt;
}

void derive_possible_rates(Net& net) {
  int widest = 4;
  for (NetLink& link : net.links) {
    for (const NetEnd& end : {link.a, link.b}) {
      const auto port = net.ports.find(end);
      if (!link.rate && port != net.ports.end()) link.rate = port->second.rate;
    }
  }
  for (const NetLink& link : net.links) widest = std::max(widest, link.rate ? link.rate->lanes : 0);
  for (NetLink& link : net.links) {
    const auto a = net.ports.find(link.a), b = net.ports.find(link.b);
    if (a == net.ports.end() || b == net.ports.end()) continue;
    const auto could = best_rate(a->second.width_supported & b->second.width_supported,
                                 a->second.speed_supported & b->second.speed_supported, widest);
    if (could) link.could = could;
  }
}

void join_ends(Net& net, const std::map<NetEnd, NetLink>& told) {
  for (const auto& [from, link] : told) {
    const auto back = told.find(link.b);
    if (back == told.end() || back->second.b != from)
      net.one_sided.push_back(link);
    else if (from < link.b)
      net.links.push_back(link);
  }
}

std::string Net::end_name(const NetEnd& end) const {
  return fmt::format("{} port {}", nodes.at(end.node).name, end.port);
}

std::string Net::link_name(const NetLink& link) const {
  return fmt::format("{} – {}", end_name(link.a), end_name(link.b));
}

}  // namespace cb
