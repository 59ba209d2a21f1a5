#include "model/fabric/mad.h"

#include <algorithm>

#include <fmt/format.h>

namespace cb {
namespace {

constexpr size_t kDataAt = 64;  // of SMPs and of performance management
constexpr size_t kPathAt = 128;
constexpr size_t kRegisterAt = 36;  // behind the key and the number of the block, which is 0

uint64_t big_endian(const Mad& mad, size_t at, size_t bytes) {
  uint64_t out = 0;
  for (size_t i = 0; i < bytes; ++i) out = out << 8 | mad[at + i];
  return out;
}

void put_big_endian(Mad& mad, size_t at, size_t bytes, uint64_t value) {
  for (size_t i = 0; i < bytes; ++i)
    mad[at + i] = static_cast<uint8_t>(value >> (8 * (bytes - 1 - i)));
}

// Of the attribute's data.
uint64_t data(const Mad& mad, size_t at, size_t bytes) {
  return big_endian(mad, kDataAt + at, bytes);
}
int small_number(const Mad& mad, size_t at, size_t bytes) {
  return static_cast<int>(data(mad, at, bytes));
}
unsigned high_nibble(const Mad& mad, size_t at) { return mad[kDataAt + at] >> 4U; }
unsigned low_nibble(const Mad& mad, size_t at) { return mad[kDataAt + at] & 0x0fU; }

int mtu_of(unsigned code) { return code >= 1 && code <= 5 ? 128 << code : 0; }
int lanes_of(unsigned code) {
  return code >= 1 && code <= 5 ? (code == 5 ? 15 : 1 << (code - 1)) : 0;
}

// Codes of speeds are masks of two fields: SDR, DDR, QDR; and FDR, EDR, HDR, NDR.
unsigned speed_bits(unsigned base, unsigned extended) {
  return (base & 7U) | (extended & 0x0fU) << 4U;
}

struct CounterPlace {
  const char* name;
  size_t bit, bits;
};
constexpr CounterPlace kCounters[] = {{"SymbolErrorCounter", 32, 16},
                                      {"LinkErrorRecoveryCounter", 48, 8},
                                      {"LinkDownedCounter", 56, 8},
                                      {"PortRcvErrors", 64, 16},
                                      {"PortRcvRemotePhysicalErrors", 80, 16},
                                      {"PortRcvSwitchRelayErrors", 96, 16},
                                      {"PortXmitDiscards", 112, 16},
                                      {"PortXmitConstraintErrors", 128, 8},
                                      {"PortRcvConstraintErrors", 136, 8},
                                      {"LocalLinkIntegrityErrors", 152, 4},
                                      {"ExcessiveBufferOverrunErrors", 156, 4},
                                      {"VL15Dropped", 176, 16},
                                      {"PortXmitData", 192, 32},
                                      {"PortRcvData", 224, 32},
                                      {"PortXmitPkts", 256, 32},
                                      {"PortRcvPkts", 288, 32},
                                      {"PortXmitWait", 320, 32}};
constexpr CounterPlace kExtended[] = {{"PortXmitData", 64, 64},
                                      {"PortRcvData", 128, 64},
                                      {"PortXmitPkts", 192, 64},
                                      {"PortRcvPkts", 256, 64}};
constexpr CounterPlace kExtendedErrors[] = {{"SymbolErrorCounter", 576, 64},
                                            {"LinkErrorRecoveryCounter", 640, 64},
                                            {"LinkDownedCounter", 704, 64},
                                            {"PortRcvErrors", 768, 64},
                                            {"PortRcvRemotePhysicalErrors", 832, 64},
                                            {"PortRcvSwitchRelayErrors", 896, 64},
                                            {"PortXmitDiscards", 960, 64},
                                            {"PortXmitConstraintErrors", 1024, 64},
                                            {"PortRcvConstraintErrors", 1088, 64},
                                            {"LocalLinkIntegrityErrors", 1152, 64},
                                            {"ExcessiveBufferOverrunErrors", 1216, 64},
                                            {"VL15Dropped", 1280, 64},
                                            {"PortXmitWait", 1344, 64}};

uint64_t counter_at(const Mad& mad, const CounterPlace& place) {
  if (place.bits == 4)
    return place.bit % 8 == 0 ? high_nibble(mad, place.bit / 8) : low_nibble(mad, place.bit / 8);
  return data(mad, place.bit / 8, place.bits / 8);
}

}  // namespace

const char* attribute_name(MadAttribute attribute) {
  switch (attribute) {
    case MadAttribute::class_port_info:
    case MadAttribute::class_info:
      return "ClassPortInfo";
    case MadAttribute::node_description:
      return "NodeDescription";
    case MadAttribute::node_info:
      return "NodeInfo";
    case MadAttribute::switch_info:
      return "SwitchInfo";
    case MadAttribute::port_info:
      return "PortInfo";
    case MadAttribute::pkey_table:
      return "P_KeyTable";
    case MadAttribute::forwarding_table:
      return "LinearForwardingTable";
    case MadAttribute::manager_info:
      return "SMInfo";
    case MadAttribute::port_counters:
      return "PortCounters";
    case MadAttribute::port_counters_extended:
      return "PortCountersExtended";
    case MadAttribute::general_info:
      return "GeneralInfo";
    case MadAttribute::access_register:
      return "AccessRegister";
  }
  return "";
}

Mad compose(const MadQuestion& question, uint32_t transaction) {
  Mad out{};
  out[0] = 1;  // base version
  out[1] = static_cast<uint8_t>(question.of);
  out[2] = 1;  // class version
  out[3] = 1;  // Get
  put_big_endian(out, 8, 8, transaction);
  // Our own numbers tell classes apart in their high byte.
  put_big_endian(out, 16, 2, static_cast<uint16_t>(question.attribute) & 0xffU);
  put_big_endian(out, 20, 4, question.modifier);
  if (question.of == MadClass::performance) {
    out[kDataAt + 1] = question.port;
    return out;
  }
  put_big_endian(out, 24, 8, question.key);
  if (question.attribute == MadAttribute::access_register)
    std::copy(question.select.begin(), question.select.end(), out.begin() + kRegisterAt);
  if (question.of != MadClass::directed) return out;
  const size_t hops = std::min<size_t>(question.path.size(), 63);
  out[7] = static_cast<uint8_t>(hops);
  put_big_endian(out, 32, 4, 0xffffffff);  // permissive LIDs: directed all the way
  std::copy_n(question.path.begin(), hops, out.begin() + kPathAt + 1);
  return out;
}

uint32_t transaction_of(const Mad& mad) { return static_cast<uint32_t>(big_endian(mad, 12, 4)); }

uint16_t status_of(const Mad& mad) {
  return static_cast<uint16_t>(big_endian(mad, 4, 2) & 0x7fffU);
}

std::string mad_status_text(uint16_t status) {
  constexpr std::array<const char*, 8> kInvalid{"",
                                                "version not supported",
                                                "method not supported",
                                                "attribute not supported",
                                                "status 4",
                                                "status 5",
                                                "status 6",
                                                "invalid attribute or modifier"};
  const unsigned invalid = status >> 2U & 7U;
  if ((status & 1U) != 0) return "busy";
  if ((status & 2U) != 0) return "redirected";
  if (invalid != 0) return kInvalid.at(invalid);
  return fmt::format("status 0x{:04x}", status);
}

std::optional<NodeInfo> decode_node_info(const Mad& mad) {
  const int type = small_number(mad, 2, 1);
  NodeInfo out{.ports = small_number(mad, 3, 1),
               .system_guid = data(mad, 4, 8),
               .node_guid = data(mad, 12, 8),
               .port_guid = data(mad, 20, 8),
               .vendor = static_cast<uint32_t>(data(mad, 37, 3)),
               .device = static_cast<uint32_t>(data(mad, 30, 2)),
               .revision = static_cast<uint32_t>(data(mad, 32, 4)),
               .local_port = small_number(mad, 36, 1)};
  if (type < 1 || type > 3 || out.ports < 1 || out.ports > 254) return std::nullopt;
  out.kind = type == 1   ? NetNodeKind::adapter
             : type == 2 ? NetNodeKind::network_switch
                         : NetNodeKind::router;
  return out;
}

std::string decode_description(const Mad& mad) {
  std::string out;
  for (size_t i = 0; i < 64 && mad[kDataAt + i] != 0; ++i)
    out += static_cast<char>(mad[kDataAt + i]);
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

PortInfo decode_port_info(const Mad& mad, std::optional<bool> extended) {
  const auto capabilities = static_cast<uint32_t>(data(mad, 20, 4));
  PortInfo out{.lid = small_number(mad, 16, 2),
               .lid_mask = static_cast<int>(low_nibble(mad, 34) & 7U),
               .local_port = small_number(mad, 28, 1),
               .width_active = static_cast<unsigned>(data(mad, 31, 1)),
               .extended_speeds = extended.value_or((capabilities & 1U << 14U) != 0)};
  const bool faster = out.extended_speeds;
  const unsigned fast = faster ? high_nibble(mad, 62) : 0;
  // A link that runs at an extended speed shows QDR or less in the old field.
  out.speed_active = fast != 0 ? fast << 4U : high_nibble(mad, 35) & 7U;
  NetPort& port = out.port;
  port.state = static_cast<int>(low_nibble(mad, 32));
  port.physical = static_cast<int>(high_nibble(mad, 33));
  port.width_enabled = static_cast<unsigned>(data(mad, 29, 1));
  port.width_supported = static_cast<unsigned>(data(mad, 30, 1));
  port.speed_supported = speed_bits(high_nibble(mad, 32), faster ? low_nibble(mad, 62) : 0);
  port.speed_enabled = speed_bits(low_nibble(mad, 35), faster ? low_nibble(mad, 63) : 0);
  port.mtu_bytes = mtu_of(high_nibble(mad, 36));
  port.mtu_cap_bytes = mtu_of(low_nibble(mad, 41));
  port.data_lanes = lanes_of(high_nibble(mad, 43));
  port.manager_lid = small_number(mad, 18, 2);
  port.runs_manager = (capabilities & 2U) != 0;
  return out;
}

std::optional<LinkRate> active_rate(const PortInfo& info) {
  return best_rate(info.width_active, info.speed_active, 12);
}

SwitchInfo decode_switch_info(const Mad& mad) {
  return {.table_capacity = small_number(mad, 0, 2),
          .table_top = small_number(mad, 6, 2),
          .enhanced_port0 = (mad[kDataAt + 16] & 0x08U) != 0};
}

std::array<uint8_t, kLidsPerBlock> decode_forwarding(const Mad& mad) {
  std::array<uint8_t, kLidsPerBlock> out{};
  std::copy_n(mad.begin() + kDataAt, kLidsPerBlock, out.begin());
  return out;
}

std::vector<uint16_t> decode_pkeys(const Mad& mad) {
  std::vector<uint16_t> out;
  for (size_t i = 0; i < kPkeysPerBlock; ++i) {
    const auto key = static_cast<uint16_t>(data(mad, 2 * i, 2));
    if ((key & 0x7fffU) != 0) out.push_back(key);
  }
  return out;
}

SubnetManager decode_manager(const Mad& mad) {
  return {.state = static_cast<int>(low_nibble(mad, 20)),
          .priority = static_cast<int>(high_nibble(mad, 20)),
          .activity = static_cast<uint32_t>(data(mad, 16, 4))};
}

CounterAbilities decode_counter_abilities(const Mad& mad) {
  const auto mask = static_cast<unsigned>(data(mad, 2, 2));
  const auto second = static_cast<unsigned>(data(mad, 4, 4) >> 5U);  // below it: response time
  return {.extended = (mask & (1U << 9U | 1U << 10U)) != 0,
          .extended_errors = (second & 2U) != 0,
          .transmit_wait = (mask & 1U << 12U) != 0};
}

PortCounts decode_counters(const Mad& mad, const CounterAbilities& abilities) {
  PortCounts out;
  for (const CounterPlace& place : kCounters) {
    if (abilities.transmit_wait || std::string_view("PortXmitWait") != place.name)
      out[place.name] = counter_at(mad, place);
  }
  return out;
}

PortCounts decode_extended_counters(const Mad& mad, const CounterAbilities& abilities) {
  PortCounts out;
  for (const CounterPlace& place : kExtended) out[place.name] = counter_at(mad, place);
  if (!abilities.extended_errors) return out;
  for (const CounterPlace& place : kExtendedErrors) out[place.name] = counter_at(mad, place);
  return out;
}

uint64_t counter_limit(const std::string& name) {
  for (const CounterPlace& place : kCounters) {
    if (name == place.name) return (uint64_t{1} << place.bits) - 1;
  }
  return 0;
}

std::optional<std::string> decode_firmware(const Mad& mad) {
  // The data begin at 24: 8 bytes of a key, 32 of the hardware, then the firmware with one byte a
  // part of its version, and from 36 on each part in 32 bits.
  constexpr size_t kFirmware = 64;
  const uint64_t extended = big_endian(mad, kFirmware + 36, 4);
  if (extended != 0)
    return fmt::format("{}.{}.{}", extended, big_endian(mad, kFirmware + 40, 4),
                       big_endian(mad, kFirmware + 44, 4));
  const unsigned major = mad[kFirmware + 1];
  if (major == 0) return std::nullopt;
  return fmt::format("{}.{}.{}", major, unsigned{mad[kFirmware + 2]}, unsigned{mad[kFirmware + 3]});
}

}  // namespace cb
