#include "judge/waivers_match.h"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "core/error.h"
#include "core/units.h"

namespace cb {
namespace {

// The same day kMaxYears later. 29 February may become a day that is none: it still sorts rightly.
std::string latest_expiry(const std::string& today) {
  const int64_t year = parse_integer(std::string_view(today).substr(0, 4)).value_or(0);
  return fmt::format("{:04}{}", year + kMaxYears, today.substr(std::min<size_t>(4, today.size())));
}

}  // namespace

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (const size_t i : {0, 1, 2, 3, 5, 6, 8, 9}) {
    if (text[i] < '0' || text[i] > '9') return false;
  }
  const auto part = [&](size_t at, size_t length) {
    return static_cast<int>(parse_integer(text.substr(at, length)).value_or(0));
  };
  return std::chrono::year_month_day(std::chrono::year(part(0, 4)),
                                     std::chrono::month(static_cast<unsigned>(part(5, 2))),
                                     std::chrono::day(static_cast<unsigned>(part(8, 2))))
      .ok();
}

bool glob_match(std::string_view glob, std::string_view name) {
  size_t g = 0, n = 0;
  size_t star = std::string_view::npos, retry = 0;
  while (n < name.size()) {
    if (g < glob.size() && glob[g] == '*') {
      star = g++;
      retry = n;
    } else if (g < glob.size() && (glob[g] == '?' || glob[g] == name[n])) {
      ++g;
      ++n;
    } else if (star != std::string_view::npos) {
      g = star + 1;  // the last star takes one more character
      n = ++retry;
    } else {
      return false;
    }
  }
  while (g < glob.size() && glob[g] == '*') ++g;
  return g == glob.size();
}

void refuse_expired(const std::vector<Waiver>& waivers, const std::string& today) {
  Problems problems;
  for (const Waiver& w : waivers) {
    if (w.expires < today)  // both are YYYY-MM-DD
      problems.add(
          w.id, fmt::format("expired on {}: renew it with its approver, or remove it", w.expires));
    else if (w.expires > latest_expiry(today))
      problems.add(w.id, fmt::format("expires on {}: a waiver is for a while, {} years at most",
                                     w.expires, kMaxYears));
  }
  if (!problems.empty()) throw UsageError("waivers", problems);
}

}  // namespace cb
