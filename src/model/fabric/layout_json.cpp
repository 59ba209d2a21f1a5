// A layout as one line of JSON, and read again: a document from outside may hold anything.
#include <sstream>

#include <nlohmann/json.hpp>

#include "model/fabric/layout.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr int kLayoutVersion = 1;
constexpr size_t kMostPods = 1'000'000;

std::string in_one(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : " ") + word;
  return out;
}

json index_or_null(const std::optional<size_t>& index) {
  return index ? json(*index) : json(nullptr);
}

json places_json(const std::vector<LayoutPlace>& places) {
  json out = json::array();
  for (const LayoutPlace& p : places)
    out.push_back({index_or_null(p.from), index_or_null(p.to), p.host, p.absent});
  return out;
}

// Thrown where the text is no layout; stays in this file.
struct NoLayout {};

void require(bool holds) {
  if (!holds) throw NoLayout();
}

size_t index_below(const json& value, size_t limit) {
  require(value.is_number_unsigned() && value.get<size_t>() < limit);
  return value.get<size_t>();
}

std::optional<size_t> optional_index(const json& value, size_t limit) {
  return value.is_null() ? std::nullopt : std::optional(index_below(value, limit));
}

const json& list_of(const json& value, size_t length) {
  require(value.is_array() && value.size() == length);
  return value;
}

size_t count_of(const json& value) {
  require(value.is_number_unsigned());
  return value.get<size_t>();
}

std::string text_of(const json& value) {
  require(value.is_string());
  return value.get<std::string>();
}

void read_groups(const json& root, FabricLayout& out) {
  for (const json& g : root.at("groups")) {
    list_of(g, 5);
    out.groups.push_back({.tier = static_cast<int>(index_below(g[0], 64)),
                          .rail = text_of(g[1]),
                          .pod = index_below(g[2], kMostPods),
                          .last_pod = index_below(g[3], kMostPods),
                          .links_within = count_of(g[4])});
  }
}

void read_switches(const json& root, FabricLayout& out) {
  size_t last = 0;
  for (const json& s : root.at("switches")) {
    list_of(s, 3);
    LayoutSwitch one{text_of(s[0]), index_below(s[1], out.groups.size())};
    require(one.group >= last && s[2].is_object());
    last = one.group;
    for (const auto& [nic, hosts] : s[2].items()) {
      std::istringstream words(text_of(hosts));
      for (std::string word; words >> word;) one.hosts[nic].push_back(word);
    }
    out.switches.push_back(std::move(one));
  }
}

void read_findings(const json& root, FabricLayout& out) {
  const size_t switches = out.switches.size();
  for (const json& f : root.at("findings")) {
    list_of(f, 3);
    LayoutFinding one{text_of(f[0]), text_of(f[1]), {}};
    for (const json& p : f[2]) {
      list_of(p, 4);
      require(p[3].is_boolean());
      one.places.push_back({optional_index(p[0], switches), optional_index(p[1], switches),
                            text_of(p[2]), p[3].get<bool>()});
    }
    out.findings.push_back(std::move(one));
  }
}

FabricLayout read_layout(const json& root) {
  require(root.is_object() && root.value("version", 0) == kLayoutVersion);
  FabricLayout out{.tiers = index_below(root.at("tiers"), 64),
                   .hosts = count_of(root.at("hosts")),
                   .adapters = count_of(root.at("adapters")),
                   .links = count_of(root.at("links"))};
  read_groups(root, out);
  read_switches(root, out);
  for (const json& b : root.at("bundles")) {
    list_of(b, 3);
    const size_t groups = out.groups.size();
    out.bundles.push_back({index_below(b[0], groups), index_below(b[1], groups), count_of(b[2])});
  }
  read_findings(root, out);
  out.findings_left_out = count_of(root.at("left_out"));
  return out;
}

}  // namespace

std::string layout_text(const FabricLayout& layout) {
  json groups = json::array(), switches = json::array(), bundles = json::array(),
       findings = json::array();
  for (const LayoutGroup& g : layout.groups)
    groups.push_back({g.tier, g.rail, g.pod, g.last_pod, g.links_within});
  for (const LayoutSwitch& s : layout.switches) {
    json hosts = json::object();
    for (const auto& [nic, list] : s.hosts) hosts[nic] = in_one(list);
    switches.push_back({s.name, s.group, hosts});
  }
  for (const LayoutBundle& b : layout.bundles) bundles.push_back({b.lower, b.upper, b.links});
  for (const LayoutFinding& f : layout.findings)
    findings.push_back({f.kind, f.part, places_json(f.places)});
  const json root{{"version", kLayoutVersion}, {"tiers", layout.tiers},
                  {"hosts", layout.hosts},     {"adapters", layout.adapters},
                  {"links", layout.links},     {"groups", groups},
                  {"switches", switches},      {"bundles", bundles},
                  {"findings", findings},      {"left_out", layout.findings_left_out}};
  // Names come from devices: bytes that are no UTF-8 are replaced.
  return root.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::optional<FabricLayout> parse_layout(std::string_view text) {
  try {
    return read_layout(json::parse(text));
  } catch (const json::exception&) {
    return std::nullopt;
  } catch (const NoLayout&) {
    return std::nullopt;
  }
}

}  // namespace cb
