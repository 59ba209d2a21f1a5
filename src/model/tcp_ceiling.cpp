#include "model/tcp_ceiling.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb {
namespace {

constexpr int kTcpHeader = 20, kTimestamps = 12, kIpv4Header = 20, kIpv6Header = 40;
constexpr int kOnTheWire = 14 + 4 + 8 + 12;  // header, frame check sequence, preamble, gap

}  // namespace

std::optional<double> tcp_efficiency(int mtu_bytes, bool ipv6) {
  const int payload = mtu_bytes - (ipv6 ? kIpv6Header : kIpv4Header) - kTcpHeader - kTimestamps;
  if (payload <= 0) return std::nullopt;
  return static_cast<double>(payload) / (mtu_bytes + kOnTheWire);
}

std::optional<Ceiling> tcp_ceiling(const TcpInterface& from, const TcpInterface& to, bool ipv6,
                                   bool two_way) {
  if (!from.ethernet || !to.ethernet) return std::nullopt;
  if (!from.bits_per_second || !to.bits_per_second || !from.mtu_bytes || !to.mtu_bytes)
    return std::nullopt;
  const int mtu = std::min(*from.mtu_bytes, *to.mtu_bytes);
  const auto efficiency = tcp_efficiency(mtu, ipv6);
  if (!efficiency) return std::nullopt;
  const double bits = std::min(*from.bits_per_second, *to.bits_per_second);
  return Ceiling{bits / 8 * *efficiency * (two_way ? 2 : 1),
                 said(two_way ? "tcp.wire_two_way" : "tcp.wire", Quantity{bits, "bits_per_second"},
                      fmt::format("{:.4f}", *efficiency), mtu, ipv6 ? 6 : 4)};
}

}  // namespace cb
