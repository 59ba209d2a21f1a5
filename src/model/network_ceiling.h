#pragma once

#include <cstdint>
#include <optional>
#include <string>

// What a NIC's link and its slot can carry at most. Pure arithmetic.
namespace cb {

// The data rate of an InfiniBand link from what /sys calls its rate: SDR, DDR and QDR count the
// signal, of which 8b/10b leaves 80 %; FDR's 14 means 14.0625 × 64/66 a lane; from FDR10 and EDR on
// the rate is that of the data (IBTA volume 2, §5). `link` is "4X NDR".
double infiniband_data_bits_per_second(double signal_bits_per_second, const std::string& link);

enum class Wire { infiniband, roce_v2_ipv4, roce_v2_ipv6, tcp_ipv4 };

// The share of the wire that is payload when messages of `message_bytes` go out in packets of at
// most `mtu` payload bytes (TCP: the interface's MTU). Counted per packet: InfiniBand LRH 8, BTH
// 12, ICRC 4, VCRC 2; RoCE v2 preamble and gap 20, Ethernet 14 + 4, IP 20 or 40, UDP 8, BTH 12,
// ICRC 4; per message RETH 16. TCP: preamble and gap 20, Ethernet 18, IP 20, TCP 20 + 12 of
// timestamps.
double payload_share(Wire wire, uint64_t message_bytes, int mtu);

}  // namespace cb
