#pragma once

#include <string>

#include "judge/verdict.h"

namespace cb {

// One line per metric and entity (RFC 4180, SI units, absent is an empty cell), for spreadsheets. A
// text that a spreadsheet would take for a formula gets an apostrophe in front.
// First stand rows that are no figures: the step "verdict" with the whole and, by its id, each
// criterion with its state, the value of the worst entity and the limit; the step "evidence" with
// what makes the evidence doubtful.
std::string render_csv(const Campaign& campaign, const Judgement& judgement,
                       const Catalogue& catalogue);

// One cell: quoted where needed, and never a formula.
std::string csv_cell(std::string_view text);

}  // namespace cb
