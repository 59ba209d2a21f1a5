// The picture of a subnet, with its findings in the marks of their verdicts.
#include <algorithm>

#include "model/fabric/picture.h"
#include "report/view_parts.h"

namespace cb {
namespace {

bool is_of(const Finding& failing, const LayoutFinding& finding) {
  return finding.part.empty() ? failing.entity.kind == "cluster"
                              : failing.entity.id == finding.part;
}

// A finding that no criterion of the profile judges fails its step.
PictureMark mark_of(const ReportInput& in, const Step& step, const LayoutFinding& finding) {
  for (const CriterionVerdict& v : in.judgement.criteria) {
    const auto* rule = std::get_if<CheckRule>(&v.criterion->rule);
    if (rule == nullptr || v.criterion->step != step.id || rule->check != finding.kind) continue;
    const auto its =
        std::ranges::find_if(v.failing, [&](const Finding& f) { return is_of(f, finding); });
    const bool waived = its != v.failing.end() ? its->waived : v.state == State::waived;
    return waived ? PictureMark::waived : PictureMark::fail;
  }
  return usual_mark(finding);
}

}  // namespace

std::vector<Figure> fabric_figures(const ReportInput& in, const Step& step) {
  std::vector<Figure> out;
  for (const Job& job : in.campaign.jobs) {
    if (job.step != step.id || !job.document) continue;
    for (const Record& record : job.document->records) {
      const auto fact = record.facts.find(kLayoutFact);
      if (fact == record.facts.end()) continue;
      auto layout = parse_layout(fact->second.text());
      if (!layout) continue;
      FabricPicture picture{.layout = std::move(*layout), .marks = {}, .lang = in.t.lang()};
      for (const LayoutFinding& finding : picture.layout.findings)
        picture.marks.push_back(mark_of(in, step, finding));
      const std::string title = step.id + " · " + picture_title(picture);
      const std::string caption = picture_caption(picture);
      out.push_back({std::move(picture), title, caption});
    }
  }
  return out;
}

}  // namespace cb
