#pragma once

#include <string>

#include "judge/campaign_data.h"

namespace cb {

// One line per metric and entity (RFC 4180, SI units, absent is an empty cell), for spreadsheets. A
// text that a spreadsheet would take for a formula gets an apostrophe in front.
// What makes the evidence doubtful stands first, as rows of the step "evidence" without a figure.
std::string render_csv(const Campaign& campaign, const Catalogue& catalogue);

// One cell: quoted where needed, and never a formula.
std::string csv_cell(std::string_view text);

}  // namespace cb
