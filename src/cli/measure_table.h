#pragma once

#include <string>

#include "core/catalogue.h"
#include "core/result.h"

namespace cb {

// The human table at the end of a measurement: one row per record and metric, with the worst
// entity, its spread, its share of the ceiling and the failed checks. A record without figures has
// its reason instead, and how far it came (the fact until_the_error). Safe for a terminal whatever
// the document holds.
std::string measure_table(const Document& document, const CaseInfo& info);

// The table's lines of failed checks alone. Safe for a terminal.
std::string failed_check_lines(const Document& document, const CaseInfo& info);

// "suspect: host node03: sends …" for every failed finding, "suspects: none" if all passed, nothing
// where nothing was measured. Safe for a terminal.
std::string suspect_lines(const Document& document);

}  // namespace cb
