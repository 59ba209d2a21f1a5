#include "model/leaf_map.h"

#include <set>
#include <sstream>

#include <fmt/format.h>

namespace cb {
namespace {

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream in(line.substr(0, line.find('#')));
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
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

// Reads sections `Switch 36 "S-…" # "leaf1" …`, each followed by its ports:
// `[1] "H-…"[1](guid) # "n1 mlx5_0" lid 5 4xNDR`. A switch's aggregation node (SHARP) is no host.
// `key` turns a channel adapter's description into its key in the map.
LeafMap parse_fabric(const std::string& text, std::string (*key)(const std::string&)) {
  LeafMap out;
  std::istringstream in(text);
  std::string leaf;
  for (std::string line; std::getline(in, line);) {
    const size_t comment = line.find('#');
    const std::string described = comment == std::string::npos ? "" : quoted(line, comment);
    if (line.starts_with("Switch")) {
      leaf = described.empty() ? quoted(line, 0) : described;
    } else if (!line.starts_with('[')) {
      leaf.clear();
    } else if (!leaf.empty() && quoted(line, 0).starts_with("H-") && !described.empty() &&
               described.find("Aggregation Node") == std::string::npos) {
      put(out, key(described), leaf);
    }
  }
  return out;
}

LeafMap parse_lines(const std::string& text, Problems& problems) {
  LeafMap out;
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const std::vector<std::string> words = words_of(line);
    if (words.empty()) continue;
    if (words.size() != 2) {
      problems.add("--leaf-map", fmt::format("line {}: write HOST LEAF, not \"{}\"", number, line));
    } else if (!out.emplace(words[0], words[1]).second && out[words[0]] != words[1]) {
      problems.add("--leaf-map", fmt::format("line {}: {} is on {} above and on {} here", number,
                                             words[0], out[words[0]], words[1]));
    }
  }
  return out;
}

bool is_fabric(const std::string& text) {
  return text.starts_with("Switch") || text.find("\nSwitch") != std::string::npos;
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
  LeafMap out = is_fabric(text) ? parse_fabric(text, first_word) : parse_lines(text, problems);
  if (out.empty() && problems.empty()) problems.add("--leaf-map", "names no host");
  return out;
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
  const LeafMap of_host = parse_leaf_map(text, problems);
  const LeafMap of_nic = is_fabric(text) ? parse_fabric(text, first_two_words) : LeafMap{};
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
