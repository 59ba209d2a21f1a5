#pragma once

#include <string>
#include <string_view>

#include "judge/waivers.h"

namespace cb {

// True for "YYYY-MM-DD" if the day exists.
bool is_date(std::string_view text);

// True if the whole name matches the glob: '*' is any characters, '?' is one, nothing else is
// special.
bool glob_match(std::string_view glob, std::string_view name);

// Throws UsageError with every waiver that has expired on `today` (YYYY-MM-DD) or expires more than
// kMaxYears later: a waiver is for a while.
constexpr int kMaxYears = 3;
void refuse_expired(const std::vector<Waiver>& waivers, const std::string& today);

}  // namespace cb
