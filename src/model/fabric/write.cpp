#include "model/fabric/write.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

namespace cb {
namespace {

struct WrittenPort {
  NetEnd far;
  std::string rate;
};

int lid_at(const Net& net, const NetEnd& end) {
  const bool is_switch = net.nodes[end.node].kind == NetNodeKind::network_switch;
  const auto at = net.lids.find(is_switch ? NetEnd{end.node, 0} : end);
  return at == net.lids.end() ? 0 : at->second;
}

// Names come from outside: a quote or a line's end in one would end it here.
std::string in_quotes(std::string name) {
  std::erase_if(name, [](char c) { return c == '"' || c == '\\' || c == '\n' || c == '\r'; });
  return "\"" + name + "\"";
}

std::string port_guid(const Net& net, const NetEnd& end) {
  const auto at = net.ports.find(end);
  return at == net.ports.end() || at->second.guid == 0 ? ""
                                                       : fmt::format("({:x})", at->second.guid);
}

std::string port_line(const Net& net, const NetEnd& end, const WrittenPort& to) {
  const std::string& peer = net.nodes[to.far.node].id;
  const std::string name = in_quotes(net.nodes[to.far.node].name);
  const int far_lid = lid_at(net, to.far);
  if (net.nodes[end.node].kind == NetNodeKind::network_switch)
    return fmt::format("[{}]\t\"{}\"[{}]{} \t\t# {} lid {} {}\n", end.port, peer, to.far.port,
                       port_guid(net, to.far), name, far_lid, to.rate);
  return fmt::format("[{}]{} \t\"{}\"[{}]\t\t# lid {} lmc 0 {} lid {} {}\n", end.port,
                     port_guid(net, end), peer, to.far.port, lid_at(net, end), name, far_lid,
                     to.rate);
}

// Of a finding's text, whether it names the device or the port: "leaf-0 port 2 – …".
class RedParts {
 public:
  explicit RedParts(const std::vector<NetFinding>& findings) {
    for (const NetFinding& f : findings) parts_ += "\n" + f.part + "\n";
  }
  bool names(const std::string& what) const {
    for (size_t at = parts_.find(what); at != std::string::npos; at = parts_.find(what, at + 1)) {
      const char before = parts_[at - 1], after = parts_[at + what.size()];
      // "leaf-1" is not named by "leaf-12", nor "port 2" by "port 21".
      const auto inside = [](char c) { return c == '-' || c == '.' || (c >= '0' && c <= '9'); };
      if ((before == '\n' || before == ' ') && !inside(after)) return true;
    }
    return false;
  }

 private:
  std::string parts_ = "\n";
};

}  // namespace

std::string ibnetdiscover_text(const Net& net) {
  std::vector<std::map<int, WrittenPort>> ports(net.nodes.size());
  const auto put = [&](const NetEnd& from, const NetEnd& to, const NetLink& link) {
    ports[from.node][from.port] = {to, link.rate ? link.rate->text : ""};
  };
  for (const NetLink& link : net.links) {
    put(link.a, link.b, link);
    put(link.b, link.a, link);
  }
  for (const NetLink& link : net.one_sided) put(link.a, link.b, link);
  std::string out = "#\n# Topology file, written by clusterbench fabric --save\n#\n";
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    const NetNode& node = net.nodes[i];
    int most = std::max(node.ports, 1);
    if (!ports[i].empty()) most = std::max(most, ports[i].rbegin()->first);
    const char* word = node.kind == NetNodeKind::network_switch ? "Switch"
                       : node.kind == NetNodeKind::adapter      ? "Ca"
                                                                : "Rt";
    out += fmt::format("\nvendid=0x{:x}\ndevid=0x{:x}\nsysimgguid=0x{:x}\n{}\t{} \"{}\"\t\t# {}",
                       node.vendor, node.device, node.system_guid, word, most, node.id,
                       in_quotes(node.name));
    if (node.kind == NetNodeKind::network_switch)
      out += fmt::format(" base port 0 lid {} lmc 0", lid_at(net, {i, 0}));
    out += '\n';
    for (const auto& [port, to] : ports[i]) out += port_line(net, {i, port}, to);
  }
  return out;
}

std::string dot_text(const Net& net, const NetShape& shape,
                     const std::vector<NetFinding>& findings) {
  const RedParts red(findings);
  std::string out = "graph subnet {\n  rankdir=BT; node [shape=box]; splines=false;\n";
  std::map<int, std::string> ranks;
  for (size_t i = 0; i < net.nodes.size(); ++i) {
    if (net.nodes[i].kind != NetNodeKind::network_switch) continue;
    const std::string name = in_quotes(net.nodes[i].name);
    if (red.names(net.nodes[i].name)) out += fmt::format("  {} [color=red];\n", name);
    ranks[shape.tier[i]] += " " + name + ";";
  }
  for (const auto& [tier, names] : ranks) out += fmt::format("  {{ rank=same;{} }}\n", names);
  // Links between the same two are one line with their number.
  struct Line {
    size_t links = 0;
    bool bad = false;
  };
  std::map<std::pair<std::string, std::string>, Line> lines;
  const auto name_of = [&](const NetEnd& end) {
    const NetNode& node = net.nodes[end.node];
    return in_quotes(node.kind == NetNodeKind::adapter && !node.aggregates() ? node.host()
                                                                             : node.name);
  };
  for (const NetLink& link : net.links) {
    Line& line = lines[std::minmax(name_of(link.a), name_of(link.b))];
    ++line.links;
    line.bad |= red.names(net.end_name(link.a)) || red.names(net.end_name(link.b));
  }
  for (const auto& [ends, line] : lines) {
    out += fmt::format("  {} -- {} [label=\"{}\"{}];\n", ends.first, ends.second, line.links,
                       line.bad ? ", color=red" : "");
  }
  return out + "}\n";
}

}  // namespace cb
