#include "model/fabric/net.h"

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
constexpr std::array<LaneSpeed, 9> kLaneSpeeds{{{"SDR", 2.5},
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
  for (const LaneSpeed& speed : kLaneSpeeds) {
    if (text.substr(x + 1) == speed.name)
      return LinkRate{static_cast<int>(*lanes), speed.gigabits_per_second * 1e9, text};
  }
  return std::nullopt;
}

std::string Net::end_name(const NetEnd& end) const {
  return fmt::format("{} port {}", nodes.at(end.node).name, end.port);
}

std::string Net::link_name(const NetLink& link) const {
  return fmt::format("{} – {}", end_name(link.a), end_name(link.b));
}

}  // namespace cb
