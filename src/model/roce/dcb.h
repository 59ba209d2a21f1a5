// What the kernel and the switch say of the priorities of an Ethernet port. Pure decoding.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cb {

constexpr int kPriorities = 8;

// A rule of the application table (IEEE 802.1Q, D.2.11).
struct DcbRule {
  int selector = 0;  // 5: DSCP
  int priority = 0;
  int value = 0;
};
constexpr int kDscpSelector = 5;

// The settings of data centre bridging of one port. Absent: the driver or switch does not offer it.
struct Dcb {
  std::optional<unsigned> pfc = {};  // bit p: priority p is lossless
  // Enhanced transmission selection.
  std::optional<std::array<int, kPriorities>> class_of_priority = {};
  std::array<int, kPriorities> algorithm = {};  // by class: 0 strict, 2 bandwidth shares
  std::array<int, kPriorities> bandwidth = {};  // by class, per cent
  std::vector<DcbRule> rules = {};
  std::vector<int> trusted = {};  // selectors that count, the first one most; empty: not told

  // The priority of packets with that DSCP, by the rules; nothing if no rule names it.
  std::optional<int> priority_of(int dscp) const;
};

// Decodes the answer of the kernel to RTM_GETDCB with DCB_CMD_IEEE_GET: one netlink message with
// its header, in the byte order of this machine. Nothing if it is no such answer.
std::optional<Dcb> decode_dcb(std::string_view message);

// A rule of the routing policy (RTM_GETRULE).
struct SourceRule {
  uint32_t address = 0;  // IPv4, in the order of the host
  int bits = 0;          // of the prefix; 0: from everywhere
  uint32_t table = 0;
};
// Decodes netlink messages behind one another, of which each is a rule.
std::vector<SourceRule> decode_rules(std::string_view messages);

// What a neighbour says of itself by LLDP (IEEE 802.1AB), and the part of it that 802.1Q and 802.3
// add.
struct LldpNeighbour {
  std::string chassis;                  // its id, as text
  std::string port;                     // id of its port
  std::string description;              // of its port
  std::string name;                     // of the system
  std::optional<int> frame_bytes = {};  // largest frame of its port, with header and checksum
  Dcb dcb = {};

  // The switch by its name, else by its chassis.
  const std::string& system() const { return name.empty() ? chassis : name; }
};
// Decodes a frame's payload behind the Ethernet header. Nothing if it is cut off or has not the
// three parts that each one has.
std::optional<LldpNeighbour> decode_lldp(std::string_view payload);

// Reads what `lldpcli -f json0 show neighbors` prints: the neighbours by the name of the own port.
// Of several at one port the first counts. Throws UsageError with `file` for another text.
std::map<std::string, LldpNeighbour> read_lldpd_json(const std::string& text,
                                                     const std::string& file);

}  // namespace cb
