#include "campaign/acceptance.h"

#include "campaign/checklist.h"
#include "campaign/issue_file.h"
#include "campaign/signoff_file.h"
#include "core/error.h"

namespace cb {
namespace {

// The campaign's figures stay readable whatever happened to these files; a signature needs them
// whole and is refused while there are warnings.
template <typename F>
void attempt(Campaign& campaign, F read) {
  try {
    read();
  } catch (const UsageError& e) {
    campaign.warnings.emplace_back(e.what());
  }
}

}  // namespace

void load_acceptance(const CampaignPaths& paths, Campaign& campaign) {
  attempt(campaign, [&] { campaign.issues = read_issues(paths); });
  attempt(campaign, [&] { campaign.checklist = read_checklist(paths); });
  attempt(campaign, [&] { campaign.signoffs = read_signoffs(paths); });
}

}  // namespace cb
