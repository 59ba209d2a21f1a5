// The hosts: whether they are alike, what differs, and the parts of the most usual one.
#include <algorithm>
#include <array>
#include <map>

#include "judge/verdict_hosts.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr std::array<std::string_view, 7> kUnits{
    "_bytes_per_second", "_bits_per_second", "_bytes", "_seconds", "_hertz", "_watts", "_celsius"};

// The attribute's name in words, for attributes without a name in the tables. If the shown value
// carries the unit, the name drops it.
std::string words_of(const std::string& name, const Attribute& value, const std::string& shown) {
  std::string_view label = name;
  if (shown != attribute_text(value)) {
    for (const std::string_view unit : kUnits) {
      if (!label.ends_with(unit)) continue;
      label.remove_suffix(unit.size());
      break;
    }
  }
  std::string out(label);
  std::ranges::replace(out, '_', ' ');
  return out;
}

std::string attribute_label(const std::string& name, const Texts& t) {
  const std::string id = "attribute." + name;
  return has_text(id) ? t(id) : name;
}

// A line such as "rate 400 Gb/s".
std::string attribute_line(const std::string& name, const Attribute& value, const Texts& t) {
  const bool* truth = std::get_if<bool>(&value);
  const std::string shown =
      truth != nullptr ? t(*truth ? "value.yes" : "value.no") : attribute_display(name, value);
  const std::string id = "attribute." + name;
  const std::string label = has_text(id) ? t(id) : words_of(name, value, shown);
  return label + (label.empty() ? "" : " ") + shown;
}

std::string part_text(const Part& part, const Texts& t) {
  std::string out;
  for (const auto& [name, value] : part.attributes)
    out += (out.empty() ? "" : " · ") + attribute_line(name, value, t);
  return out.empty() ? "–" : out;
}

// The host with the most usual parts; it stands for the others.
const HostInventory& usual_host(const std::vector<HostInventory>& hosts, const Texts& t) {
  std::map<std::string, size_t> votes;
  const auto text = [&](const HostInventory& host) {
    std::string out;
    for (const Part& part : host.parts) out += part.kind + part.id + part_text(part, t) + "\n";
    return out;
  };
  std::vector<std::string> texts;
  for (const HostInventory& host : hosts) ++votes[texts.emplace_back(text(host))];
  const auto most = std::ranges::max_element(texts, {}, [&](const auto& s) { return votes.at(s); });
  return hosts[static_cast<size_t>(most - texts.begin())];
}

Table inventory_table(const HostInventory& host, const Texts& t) {
  Table table{.caption = t("hosts.inventory", host.host),
              .columns = {{t("col.part")}, {t("col.id")}, {t("col.attributes")}}};
  for (const Part& part : host.parts)
    table.rows.push_back({{}, {shown_name("kind", part.kind, t), part.id, part_text(part, t)}});
  return table;
}

Items unavailable_items(const HostInventory& host, const Texts& t) {
  Items out;
  for (const Part& part : host.parts) {
    for (const auto& [name, why] : part.unavailable)
      out.lines.push_back(t("hosts.unavailable", shown_name("kind", part.kind, t), part.id,
                            attribute_label(name, t), why.in(t.lang())));
  }
  return out;
}

// The hosts, by the names that they were asked for.
std::vector<std::string> hosts_read(const Campaign& campaign) {
  const HostNames names(campaign);
  std::vector<std::string> out;
  for (const HostInventory& host : campaign.inventories)
    out.push_back(names.asked(host.host).value_or(host.host));
  return out;
}

std::vector<std::string> hosts_without_inventory(const Campaign& campaign,
                                                 const std::vector<std::string>& read) {
  std::vector<std::string> out;
  for (const std::string& host : campaign.hosts) {
    if (std::ranges::find(read, host) == read.end()) out.push_back(host);
  }
  return out;
}

}  // namespace

Section hosts_section(const ReportInput& in) {
  const Texts& t = in.t;
  const Campaign& c = in.campaign;
  Section out{t("hosts.heading"), {}};
  const std::vector<std::string> read = hosts_read(c);
  out.blocks.emplace_back(Paragraph{
      read.empty() ? t("hosts.none_read", c.hosts.size())
                   : t("hosts.read", read.size(), c.hosts.size(), name_list(read, 64, t))});
  const auto missing = hosts_without_inventory(c, read);
  if (!missing.empty())
    out.blocks.emplace_back(Paragraph{t("hosts.missing", name_list(missing, 32, t))});
  if (c.inventories.empty()) return out;
  out.blocks.emplace_back(assets_table(in));
  add_uniformity(out, in);
  const HostInventory& usual = usual_host(c.inventories, t);
  out.blocks.emplace_back(inventory_table(usual, t));
  Items unavailable = unavailable_items(usual, t);
  if (!unavailable.lines.empty()) {
    out.blocks.emplace_back(Paragraph{t("hosts.unavailable_heading")});
    out.blocks.emplace_back(std::move(unavailable));
  }
  return out;
}

}  // namespace cb
