#pragma once

#include <string>

#include "analysis/verdict.h"

namespace cb {

// Verdicts and figures for machines, "clusterbench.report/1" (docs/report.md): SI units, no
// language, absent is absent.
std::string render_json(const Campaign& campaign, const Judgement& judgement,
                        const Catalogue& catalogue);

}  // namespace cb
