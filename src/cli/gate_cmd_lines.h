#pragma once

#include <string>

#include "judge/verdict.h"

namespace cb {

// One line per criterion: mark, id, value and limit, worst entity, source. Safe for a terminal
// whatever the campaign holds.
std::string gate_lines(const Judgement& judgement, bool color);

// "NOT ACCEPTED  61 pass · 1 fail · 1 incomplete · 1 waived", without a newline.
std::string verdict_line(const Judgement& judgement, bool color);

// True if stdout is a terminal and neither NO_COLOR nor --no-color is set.
bool stdout_color(bool no_color);

// Today's date in UTC, YYYY-MM-DD. Waivers expire by it.
std::string today_utc();

}  // namespace cb
