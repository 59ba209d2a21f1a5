// What was ordered against what the inventories show, attribute by attribute.
#include "judge/expect.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/quantity.h"
#include "core/units.h"
#include "judge/verdict_uniform.h"
#include "judge/version_order.h"
#include "judge/waivers_match.h"

namespace cb {
namespace {

// "gpu.model", "library[nccl].version".
struct ExpectedName {
  std::string_view kind, id, attribute;
};

ExpectedName expected_name(std::string_view text) {
  const size_t open = text.find('['), close = text.rfind("].");
  if (open != std::string_view::npos && close != std::string_view::npos && close > open)
    return {text.substr(0, open), text.substr(open + 1, close - open - 1), text.substr(close + 2)};
  const size_t dot = std::min(text.find('.'), text.size());
  return {text.substr(0, dot), {}, text.substr(std::min(dot + 1, text.size()))};
}

bool is_virtual(const Part& part) {
  const auto found = part.attributes.find("virtual");
  return part.kind == "nic" && found != part.attributes.end() && found->second == Attribute(true);
}

std::vector<const Part*> parts_of(const HostInventory& host, const ExpectedName& name) {
  std::vector<const Part*> out;
  for (const Part& part : host.parts) {
    if (part.kind == name.kind && (name.id.empty() || part.id == name.id) && !is_virtual(part))
      out.push_back(&part);
  }
  return out;
}

// "1.9T", "64 GiB": the number of bytes, whole or not.
std::optional<double> bytes_in(std::string text) {
  constexpr std::string_view kPrefixes = "KMGT";
  std::erase(text, ' ');
  for (const std::string_view end : {"iB", "B"}) {
    if (text.ends_with(end)) {
      text.resize(text.size() - end.size());
      break;
    }
  }
  if (text.empty()) return std::nullopt;
  const size_t prefix = kPrefixes.find(text.back());
  if (prefix == std::string_view::npos) return parse_number(text);
  text.pop_back();
  const auto number = parse_number(text);
  if (!number) return std::nullopt;
  return *number * std::pow(1024.0, static_cast<double>(prefix + 1));
}

std::optional<double> wanted_number(const std::string& text, std::string_view attribute) {
  if (const auto plain = parse_number(text)) return plain;
  if (attribute.ends_with("_bytes")) return bytes_in(text);
  const auto quantity = parse_quantity(text);
  if (!quantity || quantity->unit.empty() || !attribute.ends_with(quantity->unit))
    return std::nullopt;
  return quantity->value;
}

std::optional<double> number_in(const Attribute& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&value)) return *d;
  return std::nullopt;
}

// Returns the order of the value and what is wanted, below, equal to or above 0; nothing if they
// have none.
std::optional<int> order_of(const Attribute& value, std::string_view attribute,
                            const std::string& wanted) {
  if (const auto* text = std::get_if<std::string>(&value)) return version_order(*text, wanted);
  const auto number = number_in(value), limit = wanted_number(wanted, attribute);
  if (!number || !limit) return std::nullopt;
  return *number < *limit ? -1 : *number > *limit ? 1 : 0;
}

WantedFit equals(const Attribute& value, std::string_view attribute, const std::string& wanted) {
  const std::string text = attribute_text(value);
  if (wanted == text) return WantedFit::yes;
  if (wanted.find('*') != std::string::npos)
    return glob_match(wanted, text) ? WantedFit::yes : WantedFit::no;
  if (!number_in(value)) return WantedFit::no;
  const auto order = order_of(value, attribute, wanted);
  if (!order) return WantedFit::unclear;
  return *order == 0 ? WantedFit::yes : WantedFit::no;
}

Finding finding_about(Entity entity) {
  Finding out;
  out.entity = std::move(entity);
  out.unit = "count";
  out.value = 0;
  out.limit = 0;
  out.limit_is_minimum = false;
  return out;
}

class Expected {
 public:
  Expected(const HostInventory& host, Evidence& evidence) : host_(host), evidence_(evidence) {}

  void compare(const Expectation& expected) {
    const ExpectedName name = expected_name(expected.attribute);
    const auto parts = parts_of(host_, name);
    if (name.attribute == "count") {
      const Attribute count = static_cast<int64_t>(parts.size());
      return judge({host_.host, "host", ""}, count, expected, "count");
    }
    if (parts.empty())
      return gap({"gap.expect_none", {host_.host, std::string(name.kind), expected.attribute}});
    for (const Part* part : parts) {
      const Entity entity{host_.host, part->kind, part->id};
      const auto found = part->attributes.find(std::string(name.attribute));
      // An empty text is what firmware tells that has nothing to tell.
      if (found == part->attributes.end() || attribute_text(found->second).empty())
        unread(entity, *part, std::string(name.attribute), expected);
      else
        judge(entity, found->second, expected, name.attribute);
    }
  }

 private:
  void gap(Message what) { evidence_.gaps.push_back({host_.host, std::move(what)}); }

  void unread(const Entity& entity, const Part& part, const std::string& attribute,
              const Expectation& expected) {
    const auto reason = part.unavailable.find(attribute);
    if (reason == part.unavailable.end())
      return gap({"gap.expect_unread", {entity_name(entity), expected.attribute}});
    gap({"gap.expect_unread_why", {entity_name(entity), expected.attribute, reason->second}});
  }

  void judge(const Entity& entity, const Attribute& value, const Expectation& expected,
             std::string_view attribute) {
    bool unclear = false;
    for (const std::string& wanted : expected.wanted) {
      const WantedFit fit = fits_wanted(value, attribute, wanted);
      if (fit == WantedFit::yes) return;
      unclear = unclear || fit == WantedFit::unclear;
    }
    const std::string shown = attribute_display(attribute, value);
    const std::string ordered = fmt::format("{}", fmt::join(expected.wanted, " / "));
    if (unclear)
      return gap({"gap.expect_unlike", {entity_name(entity), expected.attribute, shown, ordered}});
    Finding f = finding_about(entity);
    f.value = f.badness = 1;
    f.failing = true;
    f.detail.push_back({"why.expected", {entity_name(entity), expected.attribute, shown, ordered}});
    evidence_.findings.push_back(std::move(f));
  }

  const HostInventory& host_;
  Evidence& evidence_;
};

// Hosts of which nothing is wrong are judged, too.
void add_good_hosts(std::span<const HostInventory> hosts, Evidence& evidence) {
  std::set<std::string> bad;
  for (const Finding& f : evidence.findings) bad.insert(f.entity.host);
  for (const HostInventory& host : hosts) {
    if (!bad.contains(host.host))
      evidence.findings.push_back(finding_about({host.host, "host", ""}));
  }
}

void fill_evidence(std::span<const HostInventory> hosts, const ExpectRule& rule, Evidence& evidence,
                   std::span<const HostInventory> module_owners = {}) {
  for (const HostInventory& host : hosts) {
    for (const Expectation& expected : rule.expected) Expected(host, evidence).compare(expected);
  }
  if (!rule.assets.empty()) compare_assets(hosts, rule.assets, evidence, module_owners);
  add_good_hosts(hosts, evidence);
}

}  // namespace

WantedFit fits_wanted(const Attribute& value, std::string_view attribute,
                      const std::string& wanted) {
  const size_t end = wanted.find_first_not_of("<>=");
  const std::string sign = wanted.substr(0, end);
  if (sign.empty()) return equals(value, attribute, wanted);
  const size_t begin = wanted.find_first_not_of(' ', sign.size());
  if (begin == std::string::npos) return WantedFit::unclear;
  const auto order = order_of(value, attribute, wanted.substr(begin));
  if (!order) return WantedFit::unclear;
  const bool fits = sign == ">="   ? *order >= 0
                    : sign == "<=" ? *order <= 0
                    : sign == ">"  ? *order > 0
                                   : *order < 0;
  return fits ? WantedFit::yes : WantedFit::no;
}

Evidence expect_evidence(std::span<const HostInventory> hosts, const ExpectRule& rule,
                         std::span<const HostInventory> module_owners) {
  Evidence evidence;
  fill_evidence(hosts, rule, evidence, module_owners);
  return evidence;
}

Evidence expect_evidence(const Campaign& campaign, const HostNames& names, const ExpectRule& rule) {
  Evidence evidence;
  const auto hosts = expected_inventories(campaign, names, evidence);
  fill_evidence(hosts, rule, evidence);
  return evidence;
}

}  // namespace cb
