#include "sys/os/fs_root.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cb {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& text) {
  size_t n = 0;
  while (n < text.size() && is_digit(text[n])) ++n;
  std::string_view digits = text.substr(0, n);
  text.remove_prefix(n);
  while (digits.size() > 1 && digits.front() == '0') digits.remove_prefix(1);
  return digits;
}

}  // namespace

std::filesystem::path FsRoot::resolve(std::string_view path) const {
  while (path.starts_with('/')) path.remove_prefix(1);
  return root_ / path;
}

std::optional<std::string> FsRoot::text(std::string_view path) const {
  std::ifstream in(resolve(path), std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream content;
  content << in.rdbuf();
  // Many sysfs files open but cannot be read (link down, not permitted).
  if (in.bad() || content.fail()) {
    if (content.str().empty()) return std::nullopt;
  }
  std::string out = content.str();
  out.erase(out.find_last_not_of(" \t\r\n") + 1);
  return out;
}

std::optional<long long> FsRoot::integer(std::string_view path) const {
  const auto content = text(path);
  if (!content || content->empty()) return std::nullopt;
  char* end = nullptr;
  const long long value = std::strtoll(content->c_str(), &end, 0);
  if (end == content->c_str() || *end != '\0') return std::nullopt;
  return value;
}

std::vector<std::string> FsRoot::entries(std::string_view directory) const {
  std::vector<std::string> out;
  std::error_code error;
  for (std::filesystem::directory_iterator it(resolve(directory), error), end; !error && it != end;
       it.increment(error)) {
    out.push_back(it->path().filename().string());
  }
  std::sort(out.begin(), out.end(), natural_less);
  return out;
}

std::optional<std::string> FsRoot::link_name(std::string_view path) const {
  std::error_code error;
  const auto target = std::filesystem::read_symlink(resolve(path), error);
  if (error) return std::nullopt;
  return target.filename().string();
}

bool FsRoot::exists(std::string_view path) const {
  std::error_code error;
  return std::filesystem::exists(resolve(path), error);
}

bool natural_less(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_digit(a.front()) && is_digit(b.front())) {
      const std::string_view x = take_digits(a), y = take_digits(b);
      if (x.size() != y.size()) return x.size() < y.size();
      if (x != y) return x < y;
    } else if (a.front() != b.front()) {
      return a.front() < b.front();
    } else {
      a.remove_prefix(1);
      b.remove_prefix(1);
    }
  }
  return a.size() < b.size();
}

}  // namespace cb
