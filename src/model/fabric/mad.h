// Management datagrams of InfiniBand: questions composed, answers decoded. Pure. Layouts and codes:
// InfiniBand Architecture Specification, volume 1, chapters 13 (MAD), 14 (SMP) and 16 (performance
// management).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/fabric/net.h"

namespace cb {

constexpr size_t kMadBytes = 256;
using Mad = std::array<uint8_t, kMadBytes>;

enum class MadClass : uint8_t { by_lid = 0x01, performance = 0x04, vendor = 0x0a, directed = 0x81 };

enum class MadAttribute : uint16_t {
  class_port_info = 0x01,
  node_description = 0x10,
  node_info = 0x11,
  switch_info = 0x12,
  port_info = 0x15,
  pkey_table = 0x16,
  forwarding_table = 0x19,
  manager_info = 0x20,
  port_counters = 0x112,           // attribute 0x12 of performance management
  port_counters_extended = 0x11d,  // 0x1d
  class_info = 0x101,              // 0x01
  general_info = 0x217,            // 0x17 of the vendor's class
  access_register = 0x251,         // 0x51 of it
};
const char* attribute_name(MadAttribute attribute);

// Ports by which a directed question leaves: the first is the own adapter's.
using MadPath = std::vector<uint8_t>;

// A question: the method is always Get. Of performance `modifier` is 0 and the port in the data.
struct MadQuestion {
  MadClass of = MadClass::directed;
  MadAttribute attribute = MadAttribute::node_info;
  uint32_t modifier = 0;
  MadPath path = {};  // of a directed one; at most 63 ports
  uint16_t lid = 0;   // of the others
  uint8_t port = 0;   // of performance counters
  uint64_t key = 0;   // M_Key; of the vendor's class its own
  // Of access_register: the first bytes, by which the register is asked (register_mad.h).
  std::array<uint8_t, 8> select = {};
};
Mad compose(const MadQuestion& question, uint32_t transaction);
uint32_t transaction_of(const Mad& mad);
// The answer's status without the direction bit; 0: right. mad_status_text(0x0c): "attribute not
// supported".
uint16_t status_of(const Mad& mad);
std::string mad_status_text(uint16_t status);

struct NodeInfo {
  NetNodeKind kind = NetNodeKind::adapter;
  int ports = 0;
  uint64_t system_guid = 0, node_guid = 0, port_guid = 0;
  uint32_t vendor = 0, device = 0, revision = 0;
  int local_port = 0;  // by which the question came in
  bool operator==(const NodeInfo&) const = default;
};
// Nothing where the answer is no node's: an unknown type, no port.
std::optional<NodeInfo> decode_node_info(const Mad& mad);
std::string decode_description(const Mad& mad);

struct PortInfo {
  NetPort port;
  int lid = 0, lid_mask = 0;
  int local_port = 0;
  unsigned width_active = 0, speed_active = 0;  // bits as in NetPort
  bool extended_speeds = false;                 // capability of the whole node: of a switch, port 0
};
// `extended`: the node offers FDR and faster; of a switch's other ports that is what port 0 said.
PortInfo decode_port_info(const Mad& mad, std::optional<bool> extended = {});
std::optional<LinkRate> active_rate(const PortInfo& info);

struct SwitchInfo {
  int table_capacity = 0;  // LIDs
  int table_top = 0;       // the largest LID that it forwards
  bool enhanced_port0 = false;
};
SwitchInfo decode_switch_info(const Mad& mad);

// Blocks of the table; LIDs.
constexpr size_t kLidsPerBlock = 64;
constexpr size_t kPkeysPerBlock = 32;
std::array<uint8_t, kLidsPerBlock> decode_forwarding(const Mad& mad);
std::vector<uint16_t> decode_pkeys(const Mad& mad);  // without empty entries

SubnetManager decode_manager(const Mad& mad);

// What the performance agent of a device offers.
struct CounterAbilities {
  bool extended = false;         // PortCountersExtended
  bool extended_errors = false;  // with error counters of 64 bits
  bool transmit_wait = false;
};
CounterAbilities decode_counter_abilities(const Mad& mad);
PortCounts decode_counters(const Mad& mad, const CounterAbilities& abilities);
PortCounts decode_extended_counters(const Mad& mad, const CounterAbilities& abilities);
// The largest value that a counter of PortCounters can show; 0 where `name` has none.
uint64_t counter_limit(const std::string& name);

// Firmware by the vendor's GeneralInfo, "28.39.1002"; nothing where it says none.
std::optional<std::string> decode_firmware(const Mad& mad);

}  // namespace cb
