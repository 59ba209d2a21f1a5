#include "core/suggest.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cb {
namespace {

// Beyond this many a list of all valid values helps nobody.
constexpr size_t kListAtMost = 24;

// A longer word is no typing mistake, and comparing it would cost the product of the lengths.
constexpr size_t kLongestWord = 200;

std::string shortened(std::string_view word) {
  if (word.empty()) return "an empty value";
  return word.size() <= kLongestWord ? std::string(word)
                                     : std::string(word.substr(0, kLongestWord)) + "…";
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

}  // namespace

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) previous[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      current[j] =
          std::min({previous[j] + 1, current[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        current[j] = std::min(current[j], before[j - 2] + 1);
      }
    }
    before.swap(previous);
    previous.swap(current);
  }
  return previous[b.size()];
}

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  if (word.size() > kLongestWord) return std::nullopt;
  const std::string wanted = lower(word);
  const size_t near_enough = std::max<size_t>(1, std::min<size_t>(4, word.size() / 2));
  std::optional<std::string> best;
  size_t best_distance = near_enough + 1;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > word.size() + near_enough) continue;
    const size_t distance = edit_distance(wanted, lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string unknown_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string out = fmt::format("{} is not known", shortened(word));
  if (const auto guess = nearest(word, candidates))
    out += fmt::format(", did you mean {}?", *guess);
  if (candidates.size() <= kListAtMost && !candidates.empty())
    out += fmt::format(" ({})", fmt::join(candidates, " "));
  return out;
}

}  // namespace cb
