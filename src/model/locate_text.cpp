#include <fmt/format.h>

#include "model/locate.h"

namespace cb {
namespace {

std::string subject(const Suspect& s) {
  switch (s.kind) {
    case SuspectKind::host:
      return fmt::format("host {}", s.host);
    case SuspectKind::nic:
      return fmt::format("nic {}:{}", s.host, s.rail);
    case SuspectKind::link:
      return fmt::format("link {}→{} rail {}", s.host, s.peer, s.rail);
    case SuspectKind::uplink:
      return s.peer_leaf < 0 ? fmt::format("uplink of leaf {}", s.leaf)
                             : fmt::format("path between leaf {} and leaf {}", s.leaf, s.peer_leaf);
    case SuspectKind::inside:
      return fmt::format("inside of host {}", s.host);
    case SuspectKind::rail:
      return fmt::format("rail {}", s.rail);
  }
  return "";
}

}  // namespace

std::string to_text(const Suspect& s) {
  const char* verb = s.side == Side::transmit  ? "sends"
                     : s.side == Side::receive ? "receives"
                                               : "reaches";
  return fmt::format("{} {} {:.1f} % of the fleet's median ({} of {} samples low){}", subject(s),
                     verb, s.share * 100, s.low, s.samples,
                     s.congestion ? ", fine alone: congestion" : "");
}

}  // namespace cb
