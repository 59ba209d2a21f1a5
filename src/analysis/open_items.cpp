#include "analysis/open_items.h"

namespace cb {

const ChecklistResult* checklist_result(const Campaign& campaign, const std::string& item) {
  for (auto r = campaign.checklist.rbegin(); r != campaign.checklist.rend(); ++r) {
    if (r->item == item) return &*r;
  }
  return nullptr;
}

std::vector<OpenItem> open_items(const Campaign& campaign, const Judgement& judgement) {
  std::vector<OpenItem> out;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (v.state == State::fail || v.state == State::incomplete)
      out.push_back({"criterion", v.criterion->id, state_name(v.state), ""});
  }
  for (const ChecklistItem& item : campaign.profile.checklist) {
    const ChecklistResult* result = checklist_result(campaign, item.id);
    if (result == nullptr)
      out.push_back({"checklist", item.id, "incomplete", ""});
    else if (result->result == "fail")
      out.push_back({"checklist", item.id, "fail", ""});
  }
  for (const Issue& issue : campaign.issues) {
    if (issue.open()) out.push_back({"issue", issue.id, "open", ""});
  }
  return out;
}

}  // namespace cb
