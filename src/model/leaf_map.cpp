#include "model/leaf_map.h"

#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>

#include "core/result.h"
#include "model/fabric/layout.h"

namespace cb {
namespace {

// A # that begins a word begins a comment; "leaf#1" is a name.
std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> out;
  for (std::string word; in >> word && !word.starts_with('#');) out.push_back(word);
  return out;
}

// Returns the text between the first pair of quotes from `from` on; empty if there is none.
std::string quoted(const std::string& line, size_t from) {
  const size_t begin = line.find('"', from);
  const size_t end = begin == std::string::npos ? begin : line.find('"', begin + 1);
  return end == std::string::npos ? "" : line.substr(begin + 1, end - begin - 1);
}

std::string first_word(const std::string& text) { return text.substr(0, text.find(' ')); }

std::string first_two_words(const std::string& text) {
  const size_t first = text.find(' ');
  return first == std::string::npos ? text : text.substr(0, text.find(' ', first + 1));
}

void put(LeafMap& map, const std::string& host, const std::string& leaf) {
  const auto [at, is_new] = map.emplace(host, leaf);
  if (!is_new && leaf < at->second) at->second = leaf;
}

// Descriptions that more than one switch of the text has, as they have when they leave the factory.
std::set<std::string> shared_descriptions(const std::string& text) {
  std::map<std::string, std::set<std::string>> switches;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const size_t comment = line.find('#');
    if (line.starts_with("Switch") && comment != std::string::npos)
      switches[quoted(line, comment)].insert(quoted(line, 0));
  }
  std::set<std::string> out;
  for (const auto& [description, ids] : switches) {
    if (ids.size() > 1) out.insert(description);
  }
  return out;
}

// Reads sections `Switch 36 "S-…" # "leaf1" …`, each followed by its ports:
// `[1] "H-…"[1](guid) # "n1 mlx5_0" lid 5 4xNDR`. A switch's aggregation node (SHARP) is no host.
// `key` turns a channel adapter's description into its key in the map.
LeafMap parse_fabric(const std::string& text, std::string (*key)(const std::string&)) {
  LeafMap out;
  const std::set<std::string> shared = shared_descriptions(text);
  std::istringstream in(text);
  std::string leaf;
  for (std::string line; std::getline(in, line);) {
    const size_t comment = line.find('#');
    const std::string described = comment == std::string::npos ? "" : quoted(line, comment);
    if (line.starts_with("Switch")) {
      leaf = described.empty() ? quoted(line, 0) : described;
      if (shared.contains(described)) leaf += " (" + quoted(line, 0) + ")";
    } else if (!line.starts_with('[')) {
      leaf.clear();
    } else if (!leaf.empty() && quoted(line, 0).starts_with("H-") && !described.empty() &&
               described.find("Aggregation Node") == std::string::npos) {
      put(out, key(described), leaf);
    }
  }
  return out;
}

// The leaf of each host, and of each "host nic" that is known apart.
struct HostAndNicLeaves {
  LeafMap of_host, of_nic;
};

// Lines HOST LEAF and HOST NIC LEAF.
class LineReader {
 public:
  explicit LineReader(Problems& problems) : problems_(problems) {}

  HostAndNicLeaves read(const std::string& text) {
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      ++number_;
      const std::vector<std::string> words = words_of(line);
      if (words.empty()) continue;
      if (words.size() == 2) {
        put_once(out_.of_host, words[0], words[1]);
      } else if (words.size() == 3) {
        put_once(out_.of_nic, words[0] + " " + words[1], words[2]);
        put(by_nics_, words[0], words[2]);
      } else {
        problems_.add(
            "--leaf-map",
            fmt::format("line {}: write HOST LEAF or HOST NIC LEAF, not \"{}\"", number_, line));
      }
    }
    // A line for the host as a whole stands before those of its NICs.
    out_.of_host.merge(by_nics_);
    return std::move(out_);
  }

 private:
  void put_once(LeafMap& map, const std::string& key, const std::string& leaf) {
    const auto [at, fresh] = map.emplace(key, leaf);
    if (!fresh && at->second != leaf)
      problems_.add("--leaf-map", fmt::format("line {}: {} is on {} above and on {} here", number_,
                                              key, at->second, leaf));
  }

  Problems& problems_;
  int number_ = 0;
  HostAndNicLeaves out_;
  LeafMap by_nics_;
};

// The layout in the record of `fabric`, of a result document.
HostAndNicLeaves of_document(const std::string& text, Problems& problems) {
  HostAndNicLeaves out;
  std::optional<FabricLayout> layout;
  try {
    for (const Record& record : parse_document(text, "--leaf-map", false).records) {
      const auto fact = record.facts.find(kLayoutFact);
      if (fact != record.facts.end() && !layout) layout = parse_layout(fact->second.text());
    }
  } catch (const UsageError& e) {
    for (const Problem& p : e.problems().list) problems.add("--leaf-map", p.said());
    return out;
  }
  if (!layout) {
    problems.add("--leaf-map", said("leaf_map.no_layout"));
    return out;
  }
  std::map<std::string, int> named;  // documents of earlier builds may name two switches alike
  for (const LayoutSwitch& leaf : layout->switches) {
    const int number = ++named[leaf.name];
    const std::string name = number == 1 ? leaf.name : fmt::format("{} ({})", leaf.name, number);
    for (const auto& [nic, hosts] : leaf.hosts) {
      for (const std::string& host : hosts) {
        put(out.of_host, host, name);
        if (!nic.empty()) put(out.of_nic, host + " " + nic, name);
      }
    }
  }
  return out;
}

bool is_fabric(const std::string& text) {
  return text.starts_with("Switch") || text.find("\nSwitch") != std::string::npos;
}

HostAndNicLeaves read_leaves(const std::string& text, Problems& problems) {
  HostAndNicLeaves out;
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin != std::string::npos && text[begin] == '{')
    out = of_document(text, problems);
  else if (is_fabric(text))
    out = {parse_fabric(text, first_word), parse_fabric(text, first_two_words)};
  else
    out = LineReader(problems).read(text);
  if (out.of_host.empty() && problems.empty()) problems.add("--leaf-map", "names no host");
  return out;
}

LeafMap::const_iterator find_host(const LeafMap& map, const std::string& host) {
  const auto at = map.find(host);
  return at != map.end() ? at : map.find(host.substr(0, host.find('.')));
}

// Returns the NIC's leaf if it is known, else the host's leaf.
LeafMap::const_iterator find_nic(const LeafMap& of_host, const LeafMap& of_nic,
                                 const std::string& host, const std::string& nic) {
  if (!nic.empty()) {
    for (const std::string& name : {host, host.substr(0, host.find('.'))}) {
      const auto at = of_nic.find(name + " " + nic);
      if (at != of_nic.end()) return at;
    }
  }
  return find_host(of_host, host);
}

std::string no_line(const std::string& host) {
  return fmt::format("has no line for the host {}", host);
}

}  // namespace

LeafMap parse_leaf_map(const std::string& text, Problems& problems) {
  return read_leaves(text, problems).of_host;
}

std::vector<int> leaf_groups(const LeafMap& map, const std::vector<std::string>& hosts,
                             Problems& problems) {
  std::set<std::string> leaves;
  for (const auto& [host, leaf] : map) leaves.insert(leaf);
  std::vector<int> out;
  for (const std::string& host : hosts) {
    const auto at = find_host(map, host);
    if (at == map.end()) {
      problems.add("--leaf-map", no_line(host));
      continue;
    }
    out.push_back(static_cast<int>(std::distance(leaves.begin(), leaves.find(at->second))));
  }
  return out;
}

NicLeaves nic_leaves(const std::string& text, const std::vector<std::string>& hosts,
                     const std::vector<std::string>& nics, Problems& problems) {
  const auto [of_host, of_nic] = read_leaves(text, problems);
  NicLeaves out;
  std::map<std::string, int> number;
  for (const std::string& host : hosts) {
    if (find_host(of_host, host) == of_host.end()) {
      problems.add("--leaf-map", no_line(host));
      continue;
    }
    for (const std::string& nic : nics) {
      const std::string& leaf = find_nic(of_host, of_nic, host, nic)->second;
      const auto [at, fresh] = number.try_emplace(leaf, static_cast<int>(out.names.size()));
      if (fresh) out.names.push_back(leaf);
      out.leaf.push_back(at->second);
    }
  }
  return out;
}

}  // namespace cb
