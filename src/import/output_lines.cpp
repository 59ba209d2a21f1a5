#include "import/output_lines.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace cb {
namespace {

constexpr std::string_view kBlanks = " \t\r";

std::vector<OutputLine> all_lines(std::string_view text) {
  std::vector<OutputLine> out;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    std::string_view line = text.substr(begin, end - begin);
    // A progress display ends in "\r" again and again: what stands last is what was shown.
    while (line.ends_with('\r')) line.remove_suffix(1);
    if (const size_t shown = line.rfind('\r'); shown != std::string_view::npos)
      line.remove_prefix(shown + 1);
    out.push_back({out.size() + 1, line});
    begin = end + 1;
  }
  return out;
}

// "not a number" and "infinite" in the ways in which C libraries print them.
std::optional<double> not_finite(std::string_view word) {
  if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
  if (word == "nan" || word == "NaN" || word == "NAN")
    return std::numeric_limits<double>::quiet_NaN();
  if (word == "inf" || word == "Inf" || word == "INF")
    return std::numeric_limits<double>::infinity();
  return std::nullopt;
}

// Number of digits behind the point, less the exponent.
int decimals_of(std::string_view word) {
  const size_t mark = std::min(word.find_first_of("eE"), word.size());
  const size_t point = word.substr(0, mark).find('.');
  const int digits = point == std::string_view::npos ? 0 : static_cast<int>(mark - point - 1);
  if (mark == word.size()) return digits;
  std::string_view power = word.substr(mark + 1);
  if (power.starts_with('+')) power.remove_prefix(1);
  int exponent = 0;
  std::from_chars(power.data(), power.data() + power.size(), exponent);
  return digits - exponent;
}

}  // namespace

std::vector<OutputLine> output_lines(std::string_view text, std::string_view mark) {
  std::vector<OutputLine> lines = all_lines(text);
  std::string_view prefix;
  for (const OutputLine& line : lines) {
    const size_t at = line.text.find(mark);
    if (at == std::string_view::npos) continue;
    prefix = line.text.substr(0, at);
    if (prefix.find_first_not_of(kBlanks) == std::string_view::npos) prefix = {};
    break;
  }
  if (prefix.empty()) return lines;
  std::vector<OutputLine> mine;
  for (OutputLine line : lines) {
    if (!line.text.starts_with(prefix)) continue;
    line.text.remove_prefix(prefix.size());
    mine.push_back(line);
  }
  return mine;
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> out;
  for (;;) {
    const size_t begin = line.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) return out;
    line.remove_prefix(begin);
    const size_t end = std::min(line.find_first_of(kBlanks), line.size());
    out.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<PrintedNumber> printed_number(std::string_view word) {
  if (const auto special = not_finite(word)) return PrintedNumber{*special, 0};
  double value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) return std::nullopt;
  return PrintedNumber{value, 0.5 * std::pow(10.0, -decimals_of(word))};
}

std::optional<int64_t> printed_integer(std::string_view word) {
  int64_t value = 0;
  const char* end = word.data() + word.size();
  const auto [stop, error] = std::from_chars(word.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

std::optional<PrintedNumber> number_behind(std::string_view line, std::string_view label) {
  const size_t at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  auto words = words_of(line.substr(at + label.size()));
  if (words.empty()) return std::nullopt;
  while (words[0].ends_with(',')) words[0].remove_suffix(1);
  return printed_number(words[0]);
}

}  // namespace cb
