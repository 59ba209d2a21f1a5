// Datagrams: questions byte by byte, answers composed by the specification's offsets.
#include <doctest/doctest.h>

#include "model/fabric/mad.h"

using namespace cb;

namespace {

void put(Mad& mad, size_t at, std::initializer_list<int> bytes) {
  for (const int b : bytes) mad[64 + at++] = static_cast<uint8_t>(b);
}

}  // namespace

TEST_CASE("a directed question has its path, its hops and permissive LIDs") {
  const Mad mad = compose({.attribute = MadAttribute::port_info,
                           .modifier = 7,
                           .path = {1, 33},
                           .key = 0x1122334455667788},
                          0xabcdef01);
  CHECK(mad[0] == 1);
  CHECK(mad[1] == 0x81);
  CHECK(mad[3] == 1);  // Get
  CHECK(mad[7] == 2);  // hops
  CHECK(transaction_of(mad) == 0xabcdef01);
  CHECK(mad[17] == 0x15);
  CHECK(mad[23] == 7);
  CHECK(mad[24] == 0x11);
  CHECK(mad[31] == 0x88);
  CHECK(mad[32] == 0xff);
  CHECK(mad[35] == 0xff);
  CHECK(mad[128] == 0);
  CHECK(mad[129] == 1);
  CHECK(mad[130] == 33);
}

TEST_CASE("a question for counters names the port in its data") {
  const Mad mad = compose({.of = MadClass::performance,
                           .attribute = MadAttribute::port_counters_extended,
                           .lid = 5,
                           .port = 12},
                          1);
  CHECK(mad[1] == 0x04);
  CHECK(mad[16] == 0);
  CHECK(mad[17] == 0x1d);
  CHECK(mad[65] == 12);
}

TEST_CASE("the status is told without the direction bit") {
  Mad mad{};
  mad[4] = 0x80;
  CHECK(status_of(mad) == 0);
  mad[5] = 0x0c;
  CHECK(status_of(mad) == 0x0c);
  CHECK(mad_status_text(0x0c) == "attribute not supported");
  CHECK(mad_status_text(0x1c) == "invalid attribute or modifier");
  CHECK(mad_status_text(0x01) == "busy");
}

TEST_CASE("NodeInfo") {
  Mad mad{};
  CHECK_FALSE(decode_node_info(mad));  // neither a kind nor a port
  put(mad, 2, {2, 64});
  put(mad, 4, {0, 0, 0, 0, 0, 0, 0, 9});
  put(mad, 12, {0xb8, 0xce, 0xf6, 3, 0, 1, 2, 3});
  put(mad, 20, {0, 0, 0, 0, 0, 0, 0, 8});
  put(mad, 30, {0xd2, 0xf2, 0, 0, 0, 0xa0, 33, 0, 0x02, 0xc9});
  const auto info = decode_node_info(mad);
  REQUIRE(info);
  CHECK(info->kind == NetNodeKind::network_switch);
  CHECK(info->ports == 64);
  CHECK(info->system_guid == 9);
  CHECK(info->node_guid == 0xb8cef60300010203);
  CHECK(info->port_guid == 8);
  CHECK(info->device == 0xd2f2);
  CHECK(info->revision == 0xa0);
  CHECK(info->local_port == 33);
  CHECK(info->vendor == 0x2c9);
}

TEST_CASE("PortInfo of a port at 4xNDR, and what FDR and faster need") {
  Mad mad{};
  put(mad, 16, {0, 5, 0, 3});        // LID, LID of the manager
  put(mad, 20, {0, 0, 0x40, 0x02});  // extended speeds, runs a manager
  put(mad, 28, {1, 19, 19, 2, 0x14, 0x52, 0x02, 0x11, 0x50});
  put(mad, 41, {0x05, 0, 0x30});
  put(mad, 62, {0x8f, 0x0f});
  const PortInfo info = decode_port_info(mad);
  CHECK(info.lid == 5);
  CHECK(info.lid_mask == 2);
  CHECK(info.port.manager_lid == 3);
  CHECK(info.port.runs_manager);
  CHECK(info.port.state == 4);
  CHECK(info.port.physical == 5);
  CHECK(info.port.mtu_bytes == 4096);
  CHECK(info.port.mtu_cap_bytes == 4096);
  CHECK(info.port.data_lanes == 4);
  CHECK(active_rate(info)->text == "4xNDR");
  CHECK(best_rate(info.port.width_supported, info.port.speed_supported)->text == "4xNDR");
  // Without the capability the extended fields are not read.
  const PortInfo old = decode_port_info(mad, false);
  CHECK(active_rate(old)->text == "4xSDR");
}

TEST_CASE("the best rate is that of four lanes unless a link is wider") {
  CHECK(best_rate(1 | 2 | 8, 1)->text == "4xSDR");
  CHECK(best_rate(1 | 2 | 8, 1, 12)->text == "12xSDR");
  CHECK(best_rate(16 | 1, 1U << 7U)->text == "2xNDR");
  CHECK_FALSE(best_rate(0, 1));
  CHECK_FALSE(best_rate(1, 0));
}

TEST_CASE("tables, keys and managers") {
  Mad mad{};
  put(mad, 0, {0xff, 1, 2});
  CHECK(decode_forwarding(mad)[0] == 255);
  CHECK(decode_forwarding(mad)[2] == 2);
  put(mad, 0, {0x7f, 0xff, 0x80, 0x01, 0x80, 0x00});  // a key, a full member, an empty entry
  CHECK(decode_pkeys(mad) == std::vector<uint16_t>{0x7fff, 0x8001});
  Mad manager{};
  put(manager, 16, {0, 0, 2, 1, 0xe3});
  CHECK(decode_manager(manager).activity == 513);
  CHECK(decode_manager(manager).priority == 14);
  CHECK(decode_manager(manager).state == 3);
  Mad table{};
  put(table, 0, {0xc0, 0, 0, 0, 0, 0, 0x2a, 0x30});
  CHECK(decode_switch_info(table).table_capacity == 0xc000);
  CHECK(decode_switch_info(table).table_top == 0x2a30);
}

TEST_CASE("counters, small and large") {
  Mad mad{};
  put(mad, 4, {0, 12, 1, 2, 0, 7});
  put(mad, 19, {0x35});
  put(mad, 24, {0, 1, 0, 0, 0xff, 0xff, 0xff, 0xff});
  PortCounts counts = decode_counters(mad, {});
  CHECK(counts.at("SymbolErrorCounter") == 12);
  CHECK(counts.at("LinkErrorRecoveryCounter") == 1);
  CHECK(counts.at("LinkDownedCounter") == 2);
  CHECK(counts.at("PortRcvErrors") == 7);
  CHECK(counts.at("LocalLinkIntegrityErrors") == 3);
  CHECK(counts.at("ExcessiveBufferOverrunErrors") == 5);
  CHECK(counts.at("PortXmitData") == 0x10000);
  CHECK(counts.at("PortRcvData") == 0xffffffff);
  CHECK_FALSE(counts.contains("PortXmitWait"));
  CHECK(counter_limit("SymbolErrorCounter") == 65535);
  CHECK(counter_limit("LocalLinkIntegrityErrors") == 15);
  Mad large{};
  put(large, 16, {0, 0, 1, 0, 0, 0, 0, 0});
  put(large, 72, {0, 0, 0, 0, 0, 1, 0, 0});
  CHECK(decode_extended_counters(large, {}).at("PortRcvData") == uint64_t{1} << 40U);
  CHECK_FALSE(decode_extended_counters(large, {}).contains("SymbolErrorCounter"));
  CHECK(decode_extended_counters(large, {.extended_errors = true}).at("SymbolErrorCounter") ==
        65536);
}

TEST_CASE("what an agent offers, and the vendor's word on firmware") {
  Mad mad{};
  put(mad, 2, {0x12, 0x00, 0, 0, 0, 0x40 + 5});
  const CounterAbilities abilities = decode_counter_abilities(mad);
  CHECK(abilities.extended);
  CHECK(abilities.transmit_wait);
  CHECK(abilities.extended_errors);  // bit 1 of the second mask
  Mad firmware{};
  CHECK_FALSE(decode_firmware(firmware));
  put(firmware, 1, {28, 39, 100});
  CHECK(*decode_firmware(firmware) == "28.39.100");
  put(firmware, 36, {0, 0, 0, 28, 0, 0, 0, 39, 0, 0, 3, 0xea});
  CHECK(*decode_firmware(firmware) == "28.39.1002");
}
