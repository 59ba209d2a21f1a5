// Shows what differs between the hosts, attribute by attribute.
#include <algorithm>

#include "judge/uniformity.h"
#include "report/view_parts.h"

namespace cb {
namespace {

constexpr size_t kMaxDifferences = 60;
constexpr size_t kMaxHosts = 8;

std::string group_text(const ValueGroup& group, const Texts& t) {
  return t("hosts.odd", name_list(group.hosts, kMaxHosts, t), group.text.in(t.lang()));
}

Row difference_row(const AttributeValues& difference, const Texts& t) {
  std::string odd;
  for (const ValueGroup& group : difference.groups) {
    if (difference.majority && group.text == *difference.majority) continue;
    odd += (odd.empty() ? "" : "; ") + group_text(group, t);
  }
  return {State::warn,
          {std::string(state_mark(State::warn)) + " " + difference.attribute,
           difference.majority ? difference.majority->in(t.lang()) : t("hosts.no_majority"), odd}};
}

}  // namespace

void add_uniformity(Section& section, const ReportInput& in) {
  const Texts& t = in.t;
  if (in.campaign.inventories.size() < 2) {
    section.blocks.emplace_back(Paragraph{t("hosts.single")});
    return;
  }
  const Uniformity result = compare_hosts(in.campaign.inventories);
  if (result.uniform()) {
    section.blocks.emplace_back(Paragraph{t("hosts.uniform", result.compared)});
    return;
  }
  section.blocks.emplace_back(
      Paragraph{t.count("hosts.differ", result.differences.size(), result.compared)});
  Table table{.caption = t("hosts.differences"),
              .columns = {{t("col.attribute")}, {t("col.most")}, {t("col.odd")}}};
  for (const AttributeValues& difference : result.differences) {
    if (table.rows.size() == kMaxDifferences) break;
    table.rows.push_back(difference_row(difference, t));
  }
  section.blocks.emplace_back(std::move(table));
  if (result.differences.size() > kMaxDifferences)
    section.blocks.emplace_back(
        Paragraph{t("hosts.more_differences", result.differences.size() - kMaxDifferences)});
}

}  // namespace cb
