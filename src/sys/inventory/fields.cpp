#include "sys/inventory/fields.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

namespace cb::inventory {

void put(Part& part, const char* name, std::optional<Attribute> value) {
  if (value) part.attributes[name] = std::move(*value);
}

void put_text(Part& part, const char* name, std::optional<std::string> value) {
  if (value && !value->empty()) part.attributes[name] = std::move(*value);
}

void put_integer(Part& part, const char* name, std::optional<long long> value, long long scale) {
  long long scaled = 0;
  if (value && !__builtin_mul_overflow(*value, scale, &scaled))
    part.attributes[name] = static_cast<int64_t>(scaled);
}

void put_file(Part& part, const char* name, const FsRoot& fs, const std::string& path) {
  if (const auto text = fs.text(path)) put_text(part, name, trimmed(*text));
}

void put_number_file(Part& part, const char* name, const FsRoot& fs, const std::string& path,
                     long long scale) {
  put_integer(part, name, fs.integer(path), scale);
}

std::optional<std::string> bracketed(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const size_t open = text->find('[');
  const size_t close = text->find(']', open == std::string::npos ? 0 : open);
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  return text->substr(open + 1, close - open - 1);
}

std::vector<int> number_list(std::string_view text) {
  constexpr int kMax = 1 << 16;  // no machine has more processors; makes "0-2000000000" harmless
  std::vector<int> out;
  std::istringstream in{std::string(text)};
  for (std::string item; std::getline(in, item, ',');) {
    item = trimmed(item);
    const char* const end = item.data() + item.size();
    int first = 0, last = 0;
    const auto [dash, bad] = std::from_chars(item.data(), end, first);
    if (bad != std::errc()) continue;
    last = first;
    if (dash != end && (*dash != '-' || std::from_chars(dash + 1, end, last).ec != std::errc()))
      continue;
    for (int i = first; i <= last && i < kMax; ++i) out.push_back(i);
  }
  return out;
}

std::vector<std::string> words(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string word; in >> word;) out.push_back(word);
  return out;
}

std::vector<std::string> lines(std::string_view text) {
  std::istringstream in{std::string(text)};
  std::vector<std::string> out;
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view kWhite = " \t\r\n";
  const size_t first = text.find_first_not_of(kWhite);
  if (first == std::string_view::npos) return "";
  return std::string(text.substr(first, text.find_last_not_of(kWhite) - first + 1));
}

std::map<std::string, std::string> colon_fields(std::string_view text) {
  std::map<std::string, std::string> out;
  for (const std::string& line : lines(text)) {
    if (trimmed(line).empty()) break;
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    out.emplace(trimmed(std::string_view(line).substr(0, colon)),
                trimmed(std::string_view(line).substr(colon + 1)));
  }
  return out;
}

std::map<std::string, std::string> first_processor(const FsRoot& fs) {
  std::ifstream in(fs.resolve("/proc/cpuinfo"), std::ios::binary);
  std::string block;
  for (std::string line; std::getline(in, line) && !line.empty();) block += line + "\n";
  return colon_fields(block);
}

}  // namespace cb::inventory
