#pragma once

#include <string>

#include "judge/signoff_data.h"
#include "judge/verdict.h"

namespace cb {

// Verdicts and figures for machines, "clusterbench.report/1" (docs/guide/report.md). Numbers are in
// SI units, texts in English; what is absent has no member.
std::string render_json(const Campaign& campaign, const Judgement& judgement,
                        const Catalogue& catalogue, const SignoffCheck& signatures = {});

}  // namespace cb
