#include "core/suggest.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cb {
namespace {

// A longer list of valid values helps nobody.
constexpr size_t kListAtMost = 40;

// A longer word is not a typing mistake, and comparing it would cost the product of the lengths.
constexpr size_t kMaxWord = 200;

std::string shortened(std::string_view word) {
  if (word.empty()) return "an empty value";
  return word.size() <= kMaxWord ? std::string(word) : std::string(word.substr(0, kMaxWord)) + "…";
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// A word may contain one mistake for every three letters; a word of two letters may contain one.
constexpr size_t kLettersAnEdit = 3;
constexpr size_t kMaxEdits = 4;
constexpr size_t kMinLetters = 2;  // a single letter is no evidence

// Counts the letters without an option's leading dashes, which do not show what is meant.
size_t letters_of(std::string_view word) {
  const size_t dashes = word.find_first_not_of('-');
  return dashes == std::string_view::npos ? 0 : word.size() - dashes;
}

std::optional<std::string> begins_with(const std::string& wanted,
                                       const std::vector<std::string>& candidates) {
  if (letters_of(wanted) < kMinLetters) return std::nullopt;
  const std::string* best = nullptr;
  for (const std::string& candidate : candidates) {
    if (!lower(candidate).starts_with(wanted)) continue;
    if (best == nullptr || candidate.size() < best->size()) best = &candidate;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

// Returns "warn" for "warning": the longest candidate that is at least the first half of the word.
std::optional<std::string> beginning_of(const std::string& wanted,
                                        const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  for (const std::string& candidate : candidates) {
    const size_t letters = letters_of(candidate);
    if (letters <= kMinLetters || 2 * letters < letters_of(wanted)) continue;
    if (!wanted.starts_with(lower(candidate))) continue;
    if (best == nullptr || candidate.size() > best->size()) best = &candidate;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

std::vector<std::string> each_once(const std::vector<std::string>& names) {
  std::vector<std::string> out;
  for (const std::string& name : names) {
    if (std::ranges::find(out, name) == out.end()) out.push_back(name);
  }
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
  if (word.size() > kMaxWord) return std::nullopt;
  const std::string wanted = lower(word);
  if (const auto longer = begins_with(wanted, candidates)) return longer;
  const size_t letters = letters_of(word);
  if (letters < kMinLetters) return std::nullopt;
  const size_t near_enough = std::clamp(letters / kLettersAnEdit, size_t{1}, kMaxEdits);
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
  return best ? best : beginning_of(wanted, candidates);
}

std::string unknown_name(std::string_view word, const std::vector<std::string>& candidates) {
  std::string out = fmt::format("{} is not known", shortened(word));
  if (const auto guess = nearest(word, candidates))
    out += fmt::format(", did you mean {}?", *guess);
  const std::vector<std::string> names = each_once(candidates);
  if (names.size() <= kListAtMost && !names.empty())
    out += fmt::format(" ({})", fmt::join(names, " "));
  return out;
}

std::string unknown_option(std::string_view option, const std::vector<std::string>& known) {
  const auto guess = nearest_option(option, known);
  return guess ? fmt::format("unknown option, did you mean {}?", *guess) : "unknown option";
}

}  // namespace cb
