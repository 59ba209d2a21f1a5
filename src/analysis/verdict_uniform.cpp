#include "analysis/verdict_uniform.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/verdict_hosts.h"

namespace cb {
namespace {

struct HostValue {
  std::string host;  // as asked for
  std::string text;  // of all parts of the kind, in their order
  bool present = false;
};

HostValue value_of(const HostInventory& inventory, const std::string& host, const std::string& kind,
                   const std::string& attribute) {
  HostValue out{host};
  const auto parts = inventory.all(kind);
  if (attribute == "count") return {host, fmt::format("{}", parts.size()), true};
  std::vector<std::string> texts;
  for (const Part* part : parts) {
    const auto text = text_of(part, attribute);
    out.present |= text.has_value();
    texts.push_back(text.value_or("absent"));
  }
  out.text = texts.empty() ? "absent" : fmt::format("{}", fmt::join(texts, ", "));
  return out;
}

// The most frequent text; the one that stands first among equals.
std::string majority(const std::vector<HostValue>& values) {
  std::map<std::string, size_t> counts;
  for (const HostValue& v : values) ++counts[v.text];
  const auto best = std::max_element(
      values.begin(), values.end(),
      [&](const HostValue& a, const HostValue& b) { return counts[a.text] < counts[b.text]; });
  return best->text;
}

std::vector<std::pair<std::string, const HostInventory*>> expected_inventories(
    const Campaign& campaign, Evidence& evidence) {
  const HostNames names(campaign);
  std::map<std::string, const HostInventory*> known;
  for (const HostInventory& inventory : campaign.inventories) {
    if (const auto asked = names.asked(inventory.host)) known.emplace(*asked, &inventory);
  }
  std::vector<std::pair<std::string, const HostInventory*>> out;
  for (const std::string& host : names.expected()) {
    if (const auto twin = names.twin(host)) {
      evidence.gaps.push_back(
          fmt::format("{} is the same machine as {}: mend the list of hosts", host, *twin));
    } else if (const auto found = known.find(host); found != known.end()) {
      out.emplace_back(host, found->second);
    } else {
      evidence.gaps.push_back(
          fmt::format("the inventory of {} is not known: repeat its step with run --resume", host));
    }
  }
  return out;
}

}  // namespace

Evidence uniform_evidence(const Campaign& campaign, const UniformRule& rule) {
  Evidence evidence;
  const auto hosts = expected_inventories(campaign, evidence);
  for (const auto& [host, inventory] : hosts) {
    Finding f;
    f.entity = {host, "host", ""};
    f.unit = "count";
    f.value = 0;
    f.limit = 0;
    f.limit_is_minimum = false;
    evidence.findings.push_back(std::move(f));
  }
  for (const std::string& name : hosts.empty() ? std::vector<std::string>() : rule.attributes) {
    const size_t dot = name.find('.');
    std::vector<HostValue> values;
    for (const auto& [host, inventory] : hosts)
      values.push_back(value_of(*inventory, host, name.substr(0, dot), name.substr(dot + 1)));
    if (std::none_of(values.begin(), values.end(), [](const HostValue& v) { return v.present; })) {
      evidence.gaps.push_back(fmt::format("{} could not be read on any host", name));
      continue;
    }
    const std::string usual = majority(values);
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i].text == usual) continue;
      Finding& f = evidence.findings[i];
      f.value = *f.value + 1;
      f.badness = *f.value;
      f.failing = true;
      f.detail += fmt::format("{}{} is {}, elsewhere {}", f.detail.empty() ? "" : "; ", name,
                              values[i].text, usual);
    }
  }
  return evidence;
}

}  // namespace cb
