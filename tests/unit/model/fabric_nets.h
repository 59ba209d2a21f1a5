// Subnets for the tests of model/fabric: healthy ones of any size, as ibnetdiscover would print
// them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

namespace cb {

struct WiredEnd {
  std::string id;
  int port = 0;
};

struct Wire {
  WiredEnd a, b;
  std::string rate = "4xNDR";
};

struct WiredNode {
  std::string id, name;
  int ports = 0;
  int lid = 0;
  bool is_switch() const { return id.front() == 'S'; }
};

struct WiredNet {
  std::vector<WiredNode> nodes;
  std::vector<Wire> wires;

  // Adapter r of every host is on leaf r, and every leaf on every spine.
  static WiredNet rails(int hosts, int rails, int spines) {
    WiredNet out;
    int lid = 0;
    for (int s = 0; s < spines; ++s)
      out.nodes.push_back(
          {fmt::format("S-{:016x}", 0xe000 + s), fmt::format("spine-{}", s), 64, ++lid});
    for (int r = 0; r < rails; ++r) {
      const std::string leaf = fmt::format("S-{:016x}", 0xf000 + r);
      out.nodes.push_back({leaf, fmt::format("leaf-{}", r), 64, ++lid});
      for (int s = 0; s < spines; ++s)
        out.wires.push_back({{leaf, hosts + 1 + s}, {fmt::format("S-{:016x}", 0xe000 + s), r + 1}});
      for (int h = 0; h < hosts; ++h) {
        const std::string adapter = fmt::format("H-{:016x}", 0x10000 + h * 16 + r);
        out.nodes.push_back({adapter, fmt::format("host{:02} mlx5_{}", h, r), 1, ++lid});
        out.wires.push_back({{leaf, h + 1}, {adapter, 1}});
      }
    }
    return out;
  }

  WiredNode& node(const std::string& id) {
    for (WiredNode& n : nodes) {
      if (n.id == id) return n;
    }
    throw id;
  }

  // The wire at that port of a leaf or spine.
  Wire& at(const std::string& name, int port) {
    for (Wire& w : wires) {
      if ((node(w.a.id).name == name && w.a.port == port) ||
          (node(w.b.id).name == name && w.b.port == port))
        return w;
    }
    throw name;
  }

  std::string text() {
    std::string out = "#\n# Topology file: generated on Tue Nov 24 10:00:00 2026\n#\n";
    for (const WiredNode& n : nodes) {
      out += fmt::format("\nvendid=0x2c9\ndevid=0x0\nsysimgguid=0x0\n{}\t{} \"{}\"\t\t# \"{}\"",
                         n.is_switch() ? "Switch" : "Ca", n.ports, n.id, n.name);
      out += n.is_switch() ? fmt::format(" base port 0 lid {} lmc 0\n", n.lid) : "\n";
      for (const Wire& w : wires) {
        if (w.a.id == n.id) out += line(n, w.a.port, w.b, w.rate);
        if (w.b.id == n.id) out += line(n, w.b.port, w.a, w.rate);
      }
    }
    return out;
  }

  std::string plan() {
    std::string out = "a_device,a_port,b_device,b_port\n";
    for (const Wire& w : wires)
      out += fmt::format("{},{},{},{}\n", node(w.a.id).name, w.a.port, node(w.b.id).name, w.b.port);
    return out;
  }

 private:
  std::string line(const WiredNode& n, int port, const WiredEnd& to, const std::string& rate) {
    const WiredNode& peer = node(to.id);
    if (n.is_switch())
      return fmt::format("[{}]\t\"{}\"[{}]({}) \t\t# \"{}\" lid {} {}\n", port, to.id, to.port,
                         to.id.substr(2), peer.name, peer.lid, rate);
    return fmt::format("[{}]({}) \t\"{}\"[{}]\t\t# lid {} lmc 0 \"{}\" lid {} {}\n", port,
                       n.id.substr(2), to.id, to.port, n.lid, peer.name, peer.lid, rate);
  }
};

}  // namespace cb
