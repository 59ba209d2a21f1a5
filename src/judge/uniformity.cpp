// Which attributes differ between hosts that should be equal, and which host is the odd one.
#include "judge/uniformity.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

#include <fmt/format.h>

#include "core/stats.h"

namespace cb {
namespace {

constexpr std::array kExcluded{
    ExcludedAttribute{"*.serial", "names one piece"},
    ExcludedAttribute{"*.uuid", "names one piece"},
    ExcludedAttribute{"*.pci_address", "follows the slot; link and NUMA node are compared"},
    ExcludedAttribute{"gpu.pcie_generation", "falls while the GPU is idle, to save power"},
    ExcludedAttribute{"memory.available_bytes", "changes all the time"},
    ExcludedAttribute{"hugepages.free_pages", "changes all the time"},
    ExcludedAttribute{"mount.free_bytes", "changes all the time"},
    ExcludedAttribute{"mount.source",
                      "device names follow their discovery; servers are spread on purpose"},
    ExcludedAttribute{"clock.max_error_seconds", "changes all the time"},
    ExcludedAttribute{"clock.estimated_error_seconds", "changes all the time"},
};

constexpr std::string_view kMemoryReason =
    "firmware and kernel reserve some megabytes more or less; one module of 32 is 3 %";
constexpr std::array kTolerant{
    TolerantAttribute{"memory.total_bytes", 0.01, kMemoryReason},
    TolerantAttribute{"numa.memory_bytes", 0.01, kMemoryReason},
    TolerantAttribute{"mount.size_bytes", 0.01, "partitions are aligned to different borders"},
};

constexpr std::array<std::string_view, 5> kNamedKinds{"mount", "library", "driver", "cache",
                                                      "hugepages"};

constexpr std::string_view kCount = "count";

using PartsOfHosts = std::vector<std::vector<const Part*>>;  // [host][part]

struct Name {
  std::string_view kind;
  std::string_view id;  // empty unless the text is "kind[id].attribute"
  std::string_view attribute;
};

Name parse_name(std::string_view text) {
  const size_t open = text.find('[');
  const size_t close = open == std::string_view::npos ? open : text.rfind("].");
  if (close != std::string_view::npos && close > open)
    return {text.substr(0, open), text.substr(open + 1, close - open - 1), text.substr(close + 2)};
  const size_t dot = std::min(text.find('.'), text.size());
  return {text.substr(0, dot), {}, text.substr(std::min(dot + 1, text.size()))};
}

bool is_excluded(std::string_view kind, std::string_view attribute) {
  return std::any_of(kExcluded.begin(), kExcluded.end(), [&](const ExcludedAttribute& e) {
    const Name name = parse_name(e.attribute);
    return name.attribute == attribute && (name.kind == "*" || name.kind == kind);
  });
}

double tolerance(std::string_view kind, std::string_view attribute) {
  for (const TolerantAttribute& t : kTolerant) {
    const Name name = parse_name(t.attribute);
    if (name.kind == kind && name.attribute == attribute) return t.share;
  }
  return 0;
}

bool is_left_out(const Part& part) {
  const auto found = part.attributes.find("virtual");
  return part.kind == "nic" && found != part.attributes.end() && found->second == Attribute(true);
}

bool is_named(std::string_view kind) {
  return std::find(kNamedKinds.begin(), kNamedKinds.end(), kind) != kNamedKinds.end();
}

const Attribute* attribute_of(const Part& part, const std::string& name) {
  const auto found = part.attributes.find(name);
  return found == part.attributes.end() ? nullptr : &found->second;
}

using Values = std::vector<std::optional<Attribute>>;  // one host's parts, in order

// Replaces numbers near the median of their position by that median, so that they compare as equal.
void snap_to_median(std::vector<Values>& hosts, double share) {
  const auto number = [](const std::optional<Attribute>& a) -> std::optional<double> {
    const auto* i = a ? std::get_if<int64_t>(&*a) : nullptr;
    return i == nullptr ? std::nullopt : std::optional(static_cast<double>(*i));
  };
  size_t longest = 0;
  for (const Values& v : hosts) longest = std::max(longest, v.size());
  for (size_t part = 0; part < longest; ++part) {
    std::vector<double> numbers;
    for (const Values& v : hosts) {
      if (part < v.size() && number(v[part])) numbers.push_back(*number(v[part]));
    }
    if (numbers.empty()) continue;
    const double middle = median(numbers);
    for (Values& v : hosts) {
      const auto value = part < v.size() ? number(v[part]) : std::nullopt;
      if (value && std::abs(*value - middle) <= share * std::abs(middle))
        v[part] = static_cast<int64_t>(middle);
    }
  }
}

// "a ×7, b": counts runs of equal values. `collapse` omits the count if all values are equal.
template <typename Text>
std::string sequence(const Values& values, bool collapse, const Text& text) {
  std::string out;
  for (size_t i = 0; i < values.size();) {
    size_t end = i + 1;
    while (end < values.size() && values[end] == values[i]) ++end;
    const bool counted = end - i > 1 && !(collapse && end - i == values.size());
    out += out.empty() ? "" : ", ";
    out += values[i] ? text(*values[i]) : "absent";
    if (counted) out += fmt::format(" ×{}", end - i);
    i = end;
  }
  return out;
}

bool all_absent(const Values& values) {
  return std::none_of(values.begin(), values.end(), [](const auto& v) { return v.has_value(); });
}

Said absent_text(const std::vector<const Part*>& parts, const std::string& attribute) {
  for (const Part* part : parts) {
    const auto reason = part->unavailable.find(attribute);
    if (reason != part->unavailable.end()) return said("value.absent_why", reason->second);
  }
  return said("value.absent");
}

// Hosts without a value are no majority: nobody who has one is odd for it.
void find_majority(AttributeValues& out) {
  std::stable_sort(
      out.groups.begin(), out.groups.end(),
      [](const ValueGroup& a, const ValueGroup& b) { return a.hosts.size() > b.hosts.size(); });
  size_t total = 0;
  for (const ValueGroup& g : out.groups) total += g.hosts.size();
  if (out.groups.empty() || out.groups[0].absent || out.groups[0].hosts.size() * 2 <= total) return;
  out.majority = out.groups[0].text;
  for (size_t i = 1; i < out.groups.size(); ++i)
    out.odd_hosts.insert(out.odd_hosts.end(), out.groups[i].hosts.begin(),
                         out.groups[i].hosts.end());
}

class Grouping {
 public:
  // Groups by the exact `key`. Calls `text` only for the first host of a group.
  template <typename Text>
  void add(const std::string& host, std::string key, bool absent, const Text& text) {
    const auto [found, is_new] = index_.emplace(std::move(key), groups_.size());
    if (is_new) {
      groups_.push_back({.text = text(), .hosts = {}, .absent = absent});
      keys_.push_back(found->first);
    }
    groups_[found->second].hosts.push_back(host);
  }

  AttributeValues finish(std::string attribute) {
    // Texts are rounded: if two values read the same, both are shown exactly.
    std::map<Said, int> uses;
    for (const ValueGroup& g : groups_) ++uses[g.text];
    for (size_t i = 0; i < groups_.size(); ++i) {
      if (uses[groups_[i].text] > 1) groups_[i].text = Said(keys_[i]);
    }
    AttributeValues out{.attribute = std::move(attribute), .groups = std::move(groups_)};
    find_majority(out);
    return out;
  }

 private:
  std::unordered_map<std::string, size_t> index_;
  std::vector<ValueGroup> groups_;
  std::vector<std::string> keys_;
};

AttributeValues group_counts(std::span<const HostInventory> hosts, const PartsOfHosts& parts,
                             std::string label) {
  Grouping grouping;
  for (size_t h = 0; h < hosts.size(); ++h) {
    const std::string count = std::to_string(parts[h].size());
    grouping.add(hosts[h].host, count, false, [&] { return count; });
  }
  return grouping.finish(std::move(label));
}

// `loose`: hosts differ in the number of parts, which another difference says already. Hosts
// without a part are then skipped and equal parts are not counted.
AttributeValues group_values(std::span<const HostInventory> hosts, const PartsOfHosts& parts,
                             const std::string& attribute, double tolerated, bool loose,
                             std::string label) {
  std::vector<Values> values(hosts.size());
  for (size_t h = 0; h < hosts.size(); ++h) {
    for (const Part* part : parts[h]) {
      const Attribute* found = attribute_of(*part, attribute);
      values[h].push_back(found == nullptr ? std::nullopt : std::optional(*found));
    }
  }
  if (tolerated > 0) snap_to_median(values, tolerated);
  Grouping grouping;
  for (size_t h = 0; h < hosts.size(); ++h) {
    if (loose && values[h].empty()) continue;
    const bool absent = all_absent(values[h]);
    const auto display = [&](const Attribute& a) { return attribute_display(attribute, a); };
    grouping.add(hosts[h].host, absent ? "absent" : sequence(values[h], loose, attribute_text),
                 absent, [&] {
                   return absent ? absent_text(parts[h], attribute)
                                 : Said(sequence(values[h], loose, display));
                 });
  }
  return grouping.finish(std::move(label));
}

std::string comparison_key(const Part& part) {
  return is_named(part.kind) ? fmt::format("{}[{}]", part.kind, part.id) : part.kind;
}

std::map<std::string, PartsOfHosts> parts_by_key(std::span<const HostInventory> hosts) {
  std::map<std::string, PartsOfHosts> out;
  for (size_t h = 0; h < hosts.size(); ++h) {
    for (const Part& part : hosts[h].parts) {
      if (is_left_out(part)) continue;
      PartsOfHosts& of_kind = out[comparison_key(part)];
      of_kind.resize(hosts.size());
      of_kind[h].push_back(&part);
    }
  }
  return out;
}

// Every attribute name of a kind, and the names whose values may differ.
struct Survey {
  std::set<std::string> names;
  std::set<std::string> suspects;
};

// Compares the attributes of a part with those of the first host's part in the same place.
void survey_part(const Part& part, const Part& first, Survey& out) {
  auto mine = part.attributes.begin(), theirs = first.attributes.begin();
  while (mine != part.attributes.end() || theirs != first.attributes.end()) {
    const bool no_mine = mine == part.attributes.end(), none = theirs == first.attributes.end();
    if (none || (!no_mine && mine->first < theirs->first)) {
      out.names.insert(mine->first);
      out.suspects.insert((mine++)->first);
    } else if (no_mine || theirs->first < mine->first) {
      out.suspects.insert((theirs++)->first);
    } else {
      if (mine->second != theirs->second) out.suspects.insert(mine->first);
      ++mine, ++theirs;
    }
  }
}

// Nearly every attribute of nearly every cluster is equal: one walk finds that without a look-up or
// a text for each host. If the hosts differ in the number of parts, every attribute is a suspect.
Survey survey_attributes(const PartsOfHosts& parts, bool same_count) {
  Survey out;
  const auto add_all = [&](const Part& part) {
    for (const auto& [name, value] : part.attributes) out.names.insert(name);
  };
  for (const Part* part : parts[0]) add_all(*part);
  for (const auto& of_host : parts) {
    for (size_t i = 0; i < of_host.size(); ++i) {
      if (same_count) survey_part(*of_host[i], *parts[0][i], out);
      if (!same_count) add_all(*of_host[i]);
    }
  }
  if (!same_count) out.suspects = out.names;
  return out;
}

void add_difference(Uniformity& out, AttributeValues values) {
  ++out.compared;
  if (!values.equal()) out.differences.push_back(std::move(values));
}

bool more_telling(const AttributeValues& a, const AttributeValues& b) {
  const auto rank = [](const AttributeValues& v) {
    return v.majority ? v.odd_hosts.size() : std::numeric_limits<size_t>::max();
  };
  return rank(a) < rank(b);
}

}  // namespace

bool AttributeValues::measured() const {
  return std::any_of(groups.begin(), groups.end(), [](const ValueGroup& g) { return !g.absent; });
}

std::span<const ExcludedAttribute> excluded_attributes() { return kExcluded; }
std::span<const TolerantAttribute> tolerant_attributes() { return kTolerant; }

Uniformity compare_hosts(std::span<const HostInventory> hosts) {
  Uniformity out{.hosts = hosts.size(), .differences = {}};
  for (const auto& [key, parts] : parts_by_key(hosts)) {
    const std::string_view kind = std::string_view(key).substr(0, key.find('['));
    AttributeValues counts = group_counts(hosts, parts, fmt::format("{}.{}", key, kCount));
    const bool loose = !counts.equal();
    const Survey survey = survey_attributes(parts, !loose);
    add_difference(out, std::move(counts));
    for (const std::string& name : survey.names) {
      if (is_excluded(kind, name)) continue;
      if (!survey.suspects.contains(name)) {
        ++out.compared;
        continue;
      }
      add_difference(out, group_values(hosts, parts, name, tolerance(kind, name), loose,
                                       fmt::format("{}.{}", key, name)));
    }
  }
  std::stable_sort(out.differences.begin(), out.differences.end(), more_telling);
  return out;
}

AttributeValues attribute_values(std::span<const HostInventory> hosts, std::string_view attribute) {
  const Name name = parse_name(attribute);
  PartsOfHosts parts(hosts.size());
  for (size_t h = 0; h < hosts.size(); ++h) {
    for (const Part& part : hosts[h].parts) {
      if (part.kind == name.kind && (name.id.empty() || part.id == name.id) && !is_left_out(part))
        parts[h].push_back(&part);
    }
  }
  if (name.attribute == kCount) return group_counts(hosts, parts, std::string(attribute));
  return group_values(hosts, parts, std::string(name.attribute),
                      tolerance(name.kind, name.attribute), false, std::string(attribute));
}

}  // namespace cb
