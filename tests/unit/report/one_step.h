// What a figure shows of a campaign of one step of `infer`.
#pragma once

#include <utility>
#include <vector>

#include "report/view_parts.h"

namespace cb {

// `figures(input, step)` of these records.
template <typename F>
auto of_infer_step(std::vector<Record> records, F figures) {
  Campaign campaign;
  campaign.profile.steps.push_back({.id = "step", .case_name = "infer"});
  Document document;
  document.records = std::move(records);
  campaign.jobs.push_back({.step = "step", .document = std::move(document)});
  const Judgement judgement;
  const Catalogue catalogue;
  const Paperwork papers;
  const Texts texts(Lang::en);
  return figures(ReportInput{campaign, judgement, catalogue, texts, papers, {}},
                 campaign.profile.steps.front());
}

}  // namespace cb
