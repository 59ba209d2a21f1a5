#include "cli/report_page.h"

#include "bench/registry.h"
#include "campaign/files.h"
#include "campaign/load.h"
#include "campaign/paperwork.h"
#include "campaign/signoff_verify.h"
#include "cli/judging.h"
#include "core/error.h"
#include "core/file.h"
#include "report/html.h"
#include "report/view.h"

namespace cb {

std::string report_day(const Campaign& campaign) {
  return (campaign.ended.empty() ? campaign.started : campaign.ended).substr(0, 10);
}

std::string report_page(const Campaign& campaign, const Judgement& judgement,
                        const Paperwork& papers, Lang lang) {
  return render_html(build_view(campaign, judgement, catalogue(), Texts(lang), papers));
}

bool is_our_signed_report(const std::filesystem::path& directory, const SignoffCheck& verified) {
  try {
    const std::string shown = read_file(directory / kSignedReport);
    const Campaign campaign = load_campaign(directory, catalogue());
    Paperwork papers = read_paperwork(directory);
    const std::vector<Waiver> last =
        verified.signoffs.empty() ? std::vector<Waiver>() : verified.signoffs.back().waivers;
    for (const std::vector<Waiver>& waivers : {std::vector<Waiver>(), last}) {
      const Judgement judgement =
          judge_campaign(campaign, campaign.profile, waivers, report_day(campaign));
      for (const SignoffCheck& check : {verified, verify_campaign(directory, {})}) {
        papers.signatures = check;
        for (const Lang lang : {Lang::en, Lang::zh}) {
          if (report_page(campaign, judgement, papers, lang) == shown) return true;
        }
      }
    }
  } catch (const UsageError&) {
    // A page that cannot be read or rendered is not ours.
  }
  return false;
}

}  // namespace cb
