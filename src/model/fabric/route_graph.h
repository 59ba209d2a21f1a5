// The switches and links of a subnet as arrays, for walking millions of hops. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "model/fabric/findings.h"

namespace cb {

// A channel is a port of a switch, by which packets leave it.
struct RouteGraph {
  struct Target {
    NetEnd end;  // the adapter's port
    int lid = 0;
    size_t leaf = 0;  // the switch that it is on
    int leaf_port = 0;
    double rate = 0;  // bits per second; 0: not known
  };

  const Net* net = nullptr;
  std::vector<int> ports;         // of each node: its largest
  std::vector<size_t> first;      // of each node: the channel of its port 0
  std::vector<NetEnd> peer;       // of each channel; port -1: no link
  std::vector<double> rate;       // of each channel
  std::vector<Target> targets;    // by LID
  std::vector<size_t> leaves;     // switches with targets
  std::vector<size_t> leaf_size;  // of each node: targets on it

  size_t channel(size_t node, int port) const { return first[node] + static_cast<size_t>(port); }
  // The other end of a port's link; port -1 without one.
  NetEnd peer_of(size_t node, int port) const {
    return port < 0 || port > ports[node] ? NetEnd{0, -1} : peer[channel(node, port)];
  }
  size_t channels() const { return peer.size(); }
  bool has_table(size_t node) const { return !net->nodes[node].forwards.empty(); }
  // The port to which a switch sends a LID; -1 for none.
  int port_for(size_t node, int lid) const {
    const std::vector<uint8_t>& table = net->nodes[node].forwards;
    const auto at = static_cast<size_t>(lid);
    return at < table.size() && table[at] != 255 ? table[at] : -1;
  }
};

RouteGraph route_graph(const Net& net);

// Dependencies between channels: of packets that arrive at a switch's port and leave by another.
class ChannelDependencies {
 public:
  explicit ChannelDependencies(const RouteGraph& graph)
      : graph_(graph), bits_(graph.channels() * kWords, 0) {}
  // Packets come into `node` at `in` and leave at `out`.
  void add(size_t node, int in, int out) {
    bits_[graph_.channel(node, in) * kWords + static_cast<size_t>(out) / 64] |=
        uint64_t{1} << (static_cast<size_t>(out) % 64);
  }
  // The ports by which a ring of dependencies enters its switches; empty if there is none.
  std::vector<NetEnd> ring() const;

 private:
  static constexpr size_t kWords = 4;  // 256 ports
  const RouteGraph& graph_;
  std::vector<uint64_t> bits_;
};

}  // namespace cb
