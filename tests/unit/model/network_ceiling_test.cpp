#include "model/network_ceiling.h"
#include "model/pcie.h"

#include <doctest/doctest.h>

using namespace cb;

namespace {

// Of a message so long that its own header does not count.
double long_share(Wire wire, int mtu) { return payload_share(wire, uint64_t{1} << 40, mtu); }

}  // namespace

TEST_CASE("InfiniBand data rates") {
  CHECK(infiniband_data_bits_per_second(40e9, "4X QDR") == doctest::Approx(32e9));
  CHECK(infiniband_data_bits_per_second(10e9, "4X SDR") == doctest::Approx(8e9));
  CHECK(infiniband_data_bits_per_second(56e9, "4X FDR") == doctest::Approx(54.5454545e9));
  CHECK(infiniband_data_bits_per_second(40e9, "4X FDR10") == 40e9);
  CHECK(infiniband_data_bits_per_second(100e9, "4X EDR") == 100e9);
  CHECK(infiniband_data_bits_per_second(400e9, "4X NDR") == 400e9);
}

TEST_CASE("payload share of the wire") {
  CHECK(long_share(Wire::roce_v2_ipv4, 4096) == doctest::Approx(4096.0 / 4178));
  CHECK(long_share(Wire::roce_v2_ipv4, 1024) == doctest::Approx(1024.0 / 1106));
  CHECK(long_share(Wire::roce_v2_ipv6, 4096) == doctest::Approx(4096.0 / 4198));
  CHECK(long_share(Wire::infiniband, 4096) == doctest::Approx(4096.0 / 4122));
  // NDR at MTU 4096: 397.5 Gb/s; 400 GbE RoCE: 392.1 Gb/s.
  CHECK(400 * long_share(Wire::infiniband, 4096) == doctest::Approx(397.477));
  CHECK(400 * long_share(Wire::roce_v2_ipv4, 4096) == doctest::Approx(392.149));
  // One packet: 64 bytes, its header of 82 and 16 of the write's.
  CHECK(payload_share(Wire::roce_v2_ipv4, 64, 4096) == doctest::Approx(64.0 / 162));
  CHECK(payload_share(Wire::roce_v2_ipv4, 4097, 4096) == doctest::Approx(4097.0 / (4097 + 180)));
  CHECK(payload_share(Wire::tcp_ipv4, 1, 1500) == doctest::Approx(1448.0 / 1538));
  CHECK(payload_share(Wire::tcp_ipv4, 1, 9000) == doctest::Approx(8948.0 / 9038));
  CHECK(payload_share(Wire::infiniband, 0, 4096) == 0);
  CHECK(payload_share(Wire::roce_v2_ipv4, 1, 4096) == doctest::Approx(1.0 / 99));
  CHECK(payload_share(Wire::roce_v2_ipv4, 4, 1) == doctest::Approx(4.0 / (4 + 4 * 82 + 16)));
  CHECK(payload_share(Wire::roce_v2_ipv4, 64, 0) == 0);
  CHECK(payload_share(Wire::tcp_ipv4, 1, 53) == doctest::Approx(1.0 / 91));
  CHECK(payload_share(Wire::tcp_ipv4, 1, 52) == 0);  // no room for a byte
}

TEST_CASE("PCI Express") {
  const double packed = 256.0 / 280;
  CHECK(*pcie_bytes_per_second(5, 16) == doctest::Approx(32e9 * 16 * 128 / 130 / 8 * packed));
  CHECK(*pcie_bytes_per_second(3, 8) == doctest::Approx(8e9 * 8 * 128 / 130 / 8 * packed));
  CHECK(*pcie_bytes_per_second(2, 8) == doctest::Approx(5e9 * 8 * 0.8 / 8 * packed));
  // Flits: 236 of 256 bytes are packets, and a packet has no frame of its own.
  CHECK(*pcie_bytes_per_second(6, 16) == doctest::Approx(64e9 * 16 / 8 * 236 / 256 * 256 / 272));
  CHECK_FALSE(pcie_bytes_per_second(0, 16).has_value());
  CHECK_FALSE(pcie_bytes_per_second(7, 16).has_value());
  CHECK_FALSE(pcie_bytes_per_second(5, 0).has_value());
}
