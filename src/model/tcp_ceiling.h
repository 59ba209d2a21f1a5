#pragma once

#include <optional>
#include <string>

#include "core/result.h"

namespace cb {

// An Ethernet interface at one end of a transfer.
struct TcpInterface {
  std::optional<double> bits_per_second = {};
  std::optional<int> mtu_bytes = {};
  bool ethernet = true;
};

// Share of an Ethernet link's bits that is TCP payload in full segments:
// (MTU − IP − TCP − timestamps) / (MTU + header + FCS + preamble + gap), with 20 bytes IPv4 or 40
// IPv6 (RFC 791, 8200), 20 TCP (RFC 9293), 12 timestamps (RFC 7323), 14 + 4 + 8 + 12 on the wire
// (IEEE 802.3). MTU 1500, IPv4: 1448 / 1538 = 0.9415. Nothing for an MTU without room for payload.
std::optional<double> tcp_efficiency(int mtu_bytes, bool ipv6);

// Bound of a transfer's bandwidth in bytes per second: the slower end's link rate times the
// efficiency at the smaller MTU; twice that for both directions. Nothing if an end's rate or MTU is
// unknown, or if it is not Ethernet.
std::optional<Ceiling> tcp_ceiling(const TcpInterface& from, const TcpInterface& to, bool ipv6,
                                   bool two_way);

}  // namespace cb
