#include "model/network_ceiling.h"

namespace cb {
namespace {

constexpr double kPreambleAndGap = 8 + 12;
constexpr double kEthernet = 14 + 4;
constexpr double kIpv4 = 20, kIpv6 = 40, kUdp = 8;
constexpr double kBth = 12, kIcrc = 4, kReth = 16;
constexpr double kLrh = 8, kVcrc = 2;
constexpr double kTcp = 20 + 12;

double packet_bytes(Wire wire) {
  switch (wire) {
    case Wire::infiniband:
      return kLrh + kBth + kIcrc + kVcrc;
    case Wire::roce_v2_ipv4:
      return kPreambleAndGap + kEthernet + kIpv4 + kUdp + kBth + kIcrc;
    case Wire::roce_v2_ipv6:
      return kPreambleAndGap + kEthernet + kIpv6 + kUdp + kBth + kIcrc;
    case Wire::tcp_ipv4:
      return kPreambleAndGap + kEthernet + kIpv4 + kTcp;
  }
  return 0;
}

}  // namespace

double infiniband_data_bits_per_second(double signal_bits_per_second, const std::string& link) {
  const auto is = [&](const char* speed) { return link.ends_with(speed); };
  if (is(" SDR") || is(" DDR") || is(" QDR")) return signal_bits_per_second * 8 / 10;
  if (is(" FDR")) return signal_bits_per_second / 14 * 14.0625 * 64 / 66;
  return signal_bits_per_second;
}

double payload_share(Wire wire, uint64_t message_bytes, int mtu) {
  if (message_bytes == 0 || mtu <= 0) return 0;
  if (wire == Wire::tcp_ipv4) {
    const double segment = mtu - kIpv4 - kTcp;
    return segment > 0 ? segment / (segment + packet_bytes(wire)) : 0;
  }
  const auto size = static_cast<double>(message_bytes);
  const auto unit = static_cast<uint64_t>(mtu);
  const uint64_t whole = (message_bytes + unit - 1) / unit;
  const auto packets = static_cast<double>(whole);
  return size / (size + packets * packet_bytes(wire) + kReth);
}

}  // namespace cb
