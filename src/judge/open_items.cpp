#include "judge/open_items.h"

#include <algorithm>

namespace cb {

std::vector<OpenItem> open_items(const Campaign& campaign, const Judgement& judgement,
                                 const Paperwork& papers) {
  std::vector<OpenItem> out;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (v.state == State::fail || v.state == State::incomplete)
      out.push_back({"criterion", v.criterion->id, state_name(v.state), ""});
  }
  for (const ChecklistItem& item : campaign.profile.checklist) {
    const auto entry = std::ranges::find(papers.checklist, item.id, &ChecklistEntry::item);
    if (entry == papers.checklist.end())
      out.push_back({"checklist", item.id, "incomplete", ""});
    else if (entry->result == "fail")
      out.push_back({"checklist", item.id, "fail", ""});
  }
  for (const Issue& issue : papers.issues) {
    if (issue.closed.empty()) out.push_back({"issue", issue.id, "open", ""});
  }
  return out;
}

}  // namespace cb
