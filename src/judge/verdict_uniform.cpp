#include "judge/verdict_uniform.h"

#include <map>
#include <set>

#include "judge/uniformity.h"
#include "judge/verdict_hosts.h"

namespace cb {
namespace {

void add_difference(Evidence& evidence, const std::string& name, const ValueGroup& odd,
                    const ValueGroup& usual) {
  const std::set<std::string> hosts(odd.hosts.begin(), odd.hosts.end());
  for (Finding& f : evidence.findings) {
    if (!hosts.contains(f.entity.host)) continue;
    f.value = *f.value + 1;
    f.badness = *f.value;
    f.failing = true;
    f.detail.push_back({"why.differs", {f.entity.host, name, odd.text, usual.text}});
  }
}

// Of the values that are there the most frequent one is the right one, however many hosts have
// none: what one host can do the others lack. Where two are equally frequent nobody knows (decision
// 0022), and their hosts are all named.
void compare_groups(Evidence& evidence, const std::string& name, const AttributeValues& values) {
  std::vector<const ValueGroup*> likely;
  for (const ValueGroup& group : values.groups)
    if (!group.absent) likely.push_back(&group);
  const bool tie = likely.size() > 1 && likely[0]->hosts.size() == likely[1]->hosts.size();
  for (const ValueGroup& group : values.groups) {
    if (&group != likely[0])
      add_difference(evidence, name, group, *likely[0]);
    else if (tie)
      add_difference(evidence, name, group, *likely[1]);
  }
}

}  // namespace

std::vector<HostInventory> expected_inventories(const Campaign& campaign, const HostNames& names,
                                                Evidence& evidence) {
  std::map<std::string, const HostInventory*> known;
  for (const HostInventory& inventory : campaign.inventories) {
    if (const auto asked = names.asked(inventory.host)) known.emplace(*asked, &inventory);
  }
  std::vector<HostInventory> out;
  for (const std::string& host : names.expected()) {
    if (const auto twin = names.twin(host)) {
      evidence.gaps.push_back({host, {"gap.twin", {host, *twin}}});
    } else if (const auto found = known.find(host); found != known.end()) {
      out.push_back({host, found->second->parts});
    } else {
      evidence.gaps.push_back({host, {"gap.no_inventory", {host}}});
    }
  }
  return out;
}

Evidence uniform_evidence(const Campaign& campaign, const HostNames& names,
                          const UniformRule& rule) {
  Evidence evidence;
  const auto hosts = expected_inventories(campaign, names, evidence);
  for (const HostInventory& host : hosts) {
    Finding f;
    f.entity = {host.host, "host", ""};
    f.unit = "count";
    f.value = 0;
    f.limit = 0;
    f.limit_is_minimum = false;
    evidence.findings.push_back(std::move(f));
  }
  for (const std::string& name : hosts.empty() ? std::vector<std::string>() : rule.attributes) {
    const AttributeValues values = attribute_values(hosts, name);
    if (!values.measured()) {
      evidence.gaps.push_back({"", {"gap.unread", {name}}});
      continue;
    }
    compare_groups(evidence, name, values);
  }
  return evidence;
}

}  // namespace cb
