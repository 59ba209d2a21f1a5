#pragma once

#include <cstdint>
#include <optional>
#include <string>

// The most that a NIC's link can carry. Pure arithmetic.
namespace cb {

// Returns the data rate of an InfiniBand link, given the rate in /sys. SDR, DDR and QDR state the
// signal rate, of which 8b/10b leaves 80 %; FDR's 14 means 14.0625 × 64/66 a lane; FDR10, EDR and
// newer state the data rate (IBTA volume 2, §5). `link` is "4X NDR".
double infiniband_data_bits_per_second(double signal_bits_per_second, const std::string& link);

enum class Wire { infiniband, roce_v2_ipv4, roce_v2_ipv6, tcp_ipv4 };

// Returns the share of the wire's bytes that is payload, if messages of `message_bytes` go in
// packets of at most `mtu` payload bytes (TCP: the interface's MTU). Bytes per packet: InfiniBand
// LRH 8, BTH 12, ICRC 4, VCRC 2; RoCE v2 preamble and gap 20, Ethernet 14 + 4, IP 20 or 40, UDP 8,
// BTH 12, ICRC 4. Per message: RETH 16. TCP: preamble and gap 20, Ethernet 18, IP 20, TCP 20 + 12
// of timestamps.
double payload_share(Wire wire, uint64_t message_bytes, int mtu);

}  // namespace cb
