#pragma once

#include <string>

#include "judge/verdict.h"

namespace cb {

// One line per metric and entity, for spreadsheets (RFC 4180, SI units; an absent value is an empty
// cell). A text that a spreadsheet would take for a formula gets an apostrophe in front. The first
// rows are no figures. Rows with the step "verdict" give the whole verdict and, by its id, each
// criterion with its state, the value of the worst entity and the limit. Rows with the step
// "evidence" say what makes the evidence doubtful.
std::string render_csv(const Campaign& campaign, const Judgement& judgement,
                       const Catalogue& catalogue);

// One cell: quoted if needed, and never a formula.
std::string csv_cell(std::string_view text);

}  // namespace cb
