#include "core/name_ranges.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace cb {
namespace {

constexpr size_t kMaxNumber = 9;

// "node" "0010" ":5": the number is the last one before a colon or a space.
struct SplitName {
  std::string head, number, tail;
};

SplitName split_name(const std::string& name) {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  const size_t host_end = std::min(name.find_first_of(": "), name.size());
  size_t end = host_end;
  while (end > 0 && !digit(name[end - 1])) --end;
  size_t begin = end;
  while (begin > 0 && digit(name[begin - 1]) && end - begin < kMaxNumber) --begin;
  return {name.substr(0, begin), name.substr(begin, end - begin), name.substr(end)};
}

// Folds ascending numbers of one width: "0001-0003,0007".
std::string folded(const std::vector<std::string>& numbers) {
  std::string out;
  for (size_t i = 0; i < numbers.size();) {
    size_t last = i;
    while (last + 1 < numbers.size() &&
           std::stoll(numbers[last + 1]) == std::stoll(numbers[last]) + 1)
      ++last;
    out += fmt::format("{}{}{}", out.empty() ? "" : ",", numbers[i],
                       last > i ? "-" + numbers[last] : "");
    i = last + 1;
  }
  return out;
}

}  // namespace

std::string name_ranges(std::vector<std::string> names) {
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  // Groups by head, tail and width of the number; the width keeps n9 and n010 apart.
  std::map<std::tuple<std::string, std::string, size_t>, std::vector<std::string>> kinds;
  for (const std::string& name : names) {
    const SplitName parts = split_name(name);
    kinds[{parts.head, parts.tail, parts.number.size()}].push_back(parts.number);
  }
  std::vector<std::string> out;
  for (const auto& [kind, numbers] : kinds) {
    const auto& [head, tail, width] = kind;
    const bool one = numbers.size() == 1;
    out.push_back(one ? head + numbers[0] + tail : head + "[" + folded(numbers) + "]" + tail);
  }
  return fmt::format("{}", fmt::join(out, ","));
}

}  // namespace cb
