// The text of ibnetdiscover: a section a node, a line a linked port. Each link stands in the
// sections of both of its nodes.
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"
#include "model/fabric/net_builder.h"

namespace cb {
namespace {

constexpr int64_t kLargestPort = 254;
constexpr int64_t kLargestUnicastLid = 0xbfff;

// A port's line: what it says of itself and of the other end.
struct PortLine {
  NetEnd from;
  std::string peer;  // its id
  int peer_port = 0;
  std::string peer_name;
  std::optional<LinkRate> rate;
};

std::vector<std::string> words_after(const std::string& text, size_t from) {
  std::istringstream in(text.substr(from));
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

// The text within the first pair of quotes from `from` on, and where it ends.
std::optional<std::pair<std::string, size_t>> quoted_at(const std::string& line, size_t from) {
  const size_t begin = line.find('"', from);
  if (begin == std::string::npos) return std::nullopt;
  const size_t end = line.find('"', begin + 1);
  if (end == std::string::npos) return std::nullopt;
  return std::pair(line.substr(begin + 1, end - begin - 1), end + 1);
}

// The number in the first brackets from `from` on.
std::optional<int> bracketed(const std::string& line, size_t from) {
  const size_t begin = line.find('[', from);
  const size_t end = begin == std::string::npos ? begin : line.find(']', begin);
  if (end == std::string::npos) return std::nullopt;
  const auto number = parse_integer(line.substr(begin + 1, end - begin - 1));
  if (!number || *number < 0 || *number > kLargestPort) return std::nullopt;
  return static_cast<int>(*number);
}

std::optional<int> lid_after(const std::string& line, size_t from) {
  const std::vector<std::string> words = words_after(line, from);
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    if (words[i] != "lid") continue;
    const auto lid = parse_integer(words[i + 1]);
    if (lid && *lid > 0 && *lid <= kLargestUnicastLid) return static_cast<int>(*lid);
    return std::nullopt;
  }
  return std::nullopt;
}

class NetReader {
 public:
  explicit NetReader(std::string file) : file_(std::move(file)) {}

  Net read(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      ++number_;
      if (!line.empty() && line.back() == '\r') line.pop_back();
      take(line);
    }
    if (net_.nodes.empty()) throw UsageError(file_, "", said("fabric.no_node"));
    join();
    // Who asked the subnet is linked to it, unless it is alone.
    if (net_.links.empty() && net_.one_sided.empty() && net_.nodes.size() > 1)
      throw UsageError(file_, "", said("fabric.no_link", net_.nodes.size()));
    return std::move(net_);
  }

 private:
  [[noreturn]] void refuse(const Said& why) const {
    throw UsageError(file_, fmt::format("line {}", number_), why);
  }

  void take(const std::string& line) {
    if (line.starts_with("Switch"))
      begin(line, NetNodeKind::network_switch);
    else if (line.starts_with("Ca"))
      begin(line, NetNodeKind::adapter);
    else if (line.starts_with("Rt"))
      begin(line, NetNodeKind::router);
    else if (line.starts_with("[") && in_section_)
      port(line);
    else if (line.find_first_not_of(" \t") == std::string::npos)
      in_section_ = false;
  }

  void begin(const std::string& line, NetNodeKind kind) {
    const auto id = quoted_at(line, 0);
    const std::vector<std::string> words = words_after(line, 0);
    const auto ports = words.size() > 1 ? parse_integer(words[1]) : std::nullopt;
    if (!id || !ports || *ports < 1 || *ports > kLargestPort) refuse(said("fabric.bad_section"));
    const auto name = quoted_at(line, id->second);
    in_section_ = true;
    ports_here_.clear();
    if (!sections_.insert(id->first).second) net_.doubled.push_back(id->first);
    current_ = node(id->first, kind, name ? name->first : "");
    net_.nodes[current_].kind = kind;
    net_.nodes[current_].ports = static_cast<int>(*ports);
    if (kind != NetNodeKind::network_switch || !name) return;
    if (const auto lid = lid_after(line, name->second)) net_.lids[{current_, 0}] = *lid;
  }

  void port(const std::string& line) {
    const auto peer = quoted_at(line, 0);
    const auto own = bracketed(line, 0);
    const auto other = peer ? bracketed(line, peer->second) : std::nullopt;
    if (!peer || !own || !other) refuse(said("fabric.bad_port"));
    if (!ports_here_.insert(*own).second) refuse(said("fabric.line_twice", *own));
    PortLine out{.from = {current_, *own}, .peer = peer->first, .peer_port = *other};
    const size_t bracket = line.find("](");
    if (bracket < line.find('"') && net_.nodes[current_].kind == NetNodeKind::adapter) {
      const size_t close = line.find(')', bracket);
      if (close != std::string::npos)
        net_.ports[out.from].guid =
            parse_hex(std::string_view(line).substr(bracket + 2, close - bracket - 2)).value_or(0);
    }
    const size_t comment = line.find('#', peer->second);
    if (comment != std::string::npos) describe(line, comment + 1, out);
    lines_.push_back(std::move(out));
  }

  // `# "n1 mlx5_0" lid 5 4xNDR` of a switch, `# lid 5 lmc 0 "leaf1" lid 3 4xNDR` of an adapter.
  void describe(const std::string& line, size_t from, PortLine& out) {
    const auto name = quoted_at(line, from);
    if (name) out.peer_name = name->first;
    const std::vector<std::string> words = words_after(line, name ? name->second : from);
    for (const std::string& word : words) {
      if (const auto rate = parse_link_rate(word)) out.rate = rate;
    }
    if (net_.nodes[current_].kind == NetNodeKind::network_switch || !name) return;
    const std::string own = line.substr(from, line.find('"', from) - from);
    if (const auto lid = lid_after(own, 0)) net_.lids[out.from] = *lid;
  }

  size_t node(const std::string& id, NetNodeKind kind, const std::string& name) {
    const auto [at, fresh] = index_.try_emplace(id, net_.nodes.size());
    if (fresh) {
      net_.nodes.push_back({.id = id, .kind = kind, .name = id});
      const size_t dash = id.find('-');
      if (dash != std::string::npos)
        net_.nodes.back().guid = parse_hex(std::string_view(id).substr(dash + 1)).value_or(0);
    }
    if (!name.empty()) net_.nodes[at->second].name = name;
    return at->second;
  }

  // A link is whole where both of its ends tell of it.
  void join() {
    std::map<NetEnd, NetLink> told;  // by the end that tells
    for (const PortLine& line : lines_) {
      const NetNodeKind kind =
          line.peer.starts_with('S') ? NetNodeKind::network_switch : NetNodeKind::adapter;
      const NetEnd to{node(line.peer, kind, index_.contains(line.peer) ? "" : line.peer_name),
                      line.peer_port};
      told[line.from] = {line.from, to, line.rate};
    }
    join_ends(net_, told);
  }

  std::string file_;
  size_t number_ = 0;
  bool in_section_ = false;
  size_t current_ = 0;
  Net net_;
  std::map<std::string, size_t> index_;
  std::set<std::string> sections_;
  std::set<int> ports_here_;  // of the section that is read
  std::vector<PortLine> lines_;
};

}  // namespace

Net read_ibnetdiscover(const std::string& text, const std::string& file) {
  return NetReader(file).read(text);
}

}  // namespace cb
