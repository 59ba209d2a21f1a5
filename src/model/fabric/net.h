// An InfiniBand subnet as somebody saw it: nodes, links and what is known of both. Pure data.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/messages/said.h"

namespace cb {

enum class NetNodeKind { adapter, network_switch, router };

struct NetNode {
  std::string id;  // with its GUID, as the dump writes it: "S-…", "H-…"
  NetNodeKind kind = NetNodeKind::adapter;
  std::string name;  // its description; the id where it has none
  int ports = 0;
  uint64_t guid = 0, system_guid = 0;
  uint32_t vendor = 0, device = 0;  // 0: not known
  std::string model = {};           // of the vendor's words, where a source has them
  std::string firmware = {};        // "28.39.1002"; empty: not known
  // Of a switch: the port of each LID, 255 for none. Empty: not read.
  std::vector<uint8_t> forwards = {};

  // A SHARP aggregation node: an adapter inside of a switch, no host's.
  bool aggregates() const;
  // Of an adapter whose description is "host nic": each of both; else the name and nothing.
  std::string host() const;
  std::string nic() const;
};

struct NetEnd {
  size_t node = 0;  // index into Net::nodes
  int port = 0;
  auto operator<=>(const NetEnd&) const = default;
};

struct LinkRate {
  int lanes = 0;
  double lane_bits_per_second = 0;  // on the wire
  std::string text;                 // "4xNDR"

  double bits_per_second() const { return lanes * lane_bits_per_second; }
};

// Reads "4xNDR", "2xHDR", "1xFDR10"; nothing for another text. Rates of a lane: InfiniBand
// Architecture Specification, volume 2, and for NDR and XDR the IBTA roadmap.
std::optional<LinkRate> parse_link_rate(const std::string& text);

struct NetLink {
  NetEnd a, b;  // a < b
  std::optional<LinkRate> rate;
  // The best that both ends can do, where both have said so.
  std::optional<LinkRate> could = {};
};

// Counters of a port, by their names in `ibqueryerrors`: "SymbolErrorCounter", "PortXmitData" …
// Data is counted in words of 4 bytes. Absent: not read.
using PortCounts = std::map<std::string, uint64_t>;

// What a port says of itself. 0 or absent: not known.
struct NetPort {
  int state = 0;     // 1 down, 2 initialised, 3 armed, 4 active
  int physical = 0;  // 2 polling, 3 disabled, 4 training, 5 up, 6 error recovery
  // Bits as in PortInfo: width 1x 1, 4x 2, 8x 4, 12x 8, 2x 16; speed: see lane_speed().
  unsigned width_supported = 0, width_enabled = 0;
  unsigned speed_supported = 0, speed_enabled = 0;
  std::optional<LinkRate> rate = {};  // of a source that tells ports and links apart
  int mtu_bytes = 0;                  // active
  int mtu_cap_bytes = 0;              // the largest that it can
  int data_lanes = 0;                 // operational virtual lanes
  int manager_lid = 0;
  bool runs_manager = false;
  uint64_t guid = 0;
  std::vector<uint16_t> pkeys = {};  // without empty entries
  bool has_pkeys = false;
  PortCounts counts = {};  // since somebody cleared them
  PortCounts moved = {};   // within Net::window_seconds
  // Counters that fell within the window: somebody cleared them.
  std::vector<std::string> cleared = {};
};

struct SubnetManager {
  NetEnd at;
  int lid = 0;
  int state = 0;  // 0 not active, 1 discovering, 2 standby, 3 master
  int priority = 0;
  uint32_t activity = 0;                     // ActCount
  std::optional<uint32_t> activity_later{};  // read again, some time after
};

// A question that got no answer, or an answer with an error.
struct Unanswered {
  NetEnd after;           // the last port that did answer, towards it
  std::string attribute;  // "NodeInfo" …
  std::string why;
  bool refused = false;  // it answered with an error
};

// What a source can tell of. What it cannot is not judged.
struct NetKnows {
  bool ports = false;  // states
  bool mtus = false;
  bool managers = false;  // who they are
  bool pkeys = false;
  bool tables = false;
  bool counters = false;
  bool firmware = false;
  bool alarms = false;
};

// What the fabric's own manager (UFM) complains of.
struct NetAlarm {
  std::string object, what, severity;
};

struct Net {
  std::vector<NetNode> nodes;
  std::vector<NetLink> links;
  std::map<NetEnd, int> lids;  // of a switch at its port 0
  // Ends that tell of a link of which the other end does not: the dump is cut off, or two devices
  // have one GUID.
  std::vector<NetLink> one_sided;
  std::vector<std::string> doubled;  // ids of which the dump has several sections

  // Adapters are known by the GUID of a port: their own is not told.
  bool adapters_by_port = false;
  NetKnows knows = {};
  std::map<NetEnd, NetPort> ports = {};
  std::map<NetEnd, int> lid_masks = {};  // LMC, where it is not 0
  std::vector<SubnetManager> managers = {};
  std::vector<Unanswered> unanswered = {};
  std::vector<NetAlarm> alarms = {};
  std::optional<double> window_seconds = {};

  std::string end_name(const NetEnd& end) const;  // "leaf-03 port 5"
  std::string link_name(const NetLink& link) const;
};

// The name of a bit of NetPort::speed_*: bit 0 SDR, 1 DDR, 2 QDR, 3 FDR10, 4 FDR, 5 EDR, 6 HDR,
// 7 NDR, 8 XDR.
const char* lane_speed(unsigned bit);
constexpr unsigned kLaneSpeeds = 9;

// The best of these masks; nothing where one is empty. Of widths above 4x only those that `widest`
// allows: simulators and old adapters offer 8x and 12x, for which no cable has been made since QDR.
std::optional<LinkRate> best_rate(unsigned widths, unsigned speeds, int widest = 4);

// Fills NetLink::could of every link whose ends have both said what they can do, and NetLink::rate
// where only a port told it. The widest link of the subnet says what a cable may carry.
void derive_possible_rates(Net& net);

// Makes links of what ends tell: a link is whole where both of its ends tell of it; the others
// become Net::one_sided.
void join_ends(Net& net, const std::map<NetEnd, NetLink>& told);

// Reads what `ibnetdiscover` prints. Lines that are none of its own are passed over. Throws
// UsageError with `file` and the line where a section cannot be read, or if there is no node.
Net read_ibnetdiscover(const std::string& text, const std::string& file);

}  // namespace cb
