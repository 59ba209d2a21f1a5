#include "model/tcp_ceiling.h"

#include <doctest/doctest.h>

using namespace cb;

TEST_CASE("TCP efficiency is payload over what is on the wire") {
  CHECK(*tcp_efficiency(1500, false) == doctest::Approx(1448.0 / 1538));
  CHECK(*tcp_efficiency(9000, false) == doctest::Approx(8948.0 / 9038));
  CHECK(*tcp_efficiency(1500, true) == doctest::Approx(1428.0 / 1538));
  CHECK(tcp_efficiency(53, false).has_value());
  CHECK_FALSE(tcp_efficiency(52, false).has_value());  // headers alone
}

TEST_CASE("The slower end bounds a transfer, both directions double it") {
  const TcpInterface fast{.bits_per_second = 100e9, .mtu_bytes = 9000};
  const TcpInterface slow{.bits_per_second = 25e9, .mtu_bytes = 1500};
  CHECK(tcp_ceiling(fast, slow, false, false)->value == doctest::Approx(25e9 / 8 * 1448 / 1538));
  CHECK(tcp_ceiling(fast, fast, false, true)->value ==
        doctest::Approx(2 * 100e9 / 8 * 8948 / 9038));
  CHECK(tcp_ceiling(slow, fast, false, false)->how ==
        "25.0 Gb/s × 0.9415 at MTU 1500 (TCP over IPv4 with timestamps)");
}

TEST_CASE("Without a known rate, MTU or framing there is no ceiling") {
  const TcpInterface whole{.bits_per_second = 25e9, .mtu_bytes = 1500};
  CHECK_FALSE(tcp_ceiling({.mtu_bytes = 1500}, whole, false, false).has_value());
  CHECK_FALSE(tcp_ceiling(whole, {.bits_per_second = 25e9}, false, false).has_value());
  CHECK_FALSE(tcp_ceiling(whole, {25e9, 1500, false}, false, false).has_value());
}
