#include "judge/version_order.h"

#include <algorithm>
#include <string>

#include "core/natural_order.h"

namespace cb {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool is_hexadecimal(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// "96.00.9F"
bool has_hexadecimal_fields(std::string_view text) {
  if (text.size() % 3 != 2) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (i % 3 == 2 ? text[i] != '.' : !is_hexadecimal(text[i])) return false;
  }
  return true;
}

std::string in_capitals(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

size_t digits_at(std::string_view text) {
  size_t out = 0;
  while (out < text.size() && is_digit(text[out])) ++out;
  return out;
}

}  // namespace

std::optional<int> version_order(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return std::nullopt;
  if (has_hexadecimal_fields(a) && has_hexadecimal_fields(b)) {
    const int order = in_capitals(a).compare(in_capitals(b));
    return order < 0 ? -1 : order > 0 ? 1 : 0;
  }
  while (!a.empty() && !b.empty()) {
    const char x = a.front(), y = b.front();
    if ((is_digit(x) && is_letter(y)) || (is_letter(x) && is_digit(y))) return std::nullopt;
    const size_t of_a = std::max<size_t>(1, digits_at(a)), of_b = std::max<size_t>(1, digits_at(b));
    if (natural_compare(a.substr(0, of_a), b.substr(0, of_b)) != 0) break;
    a.remove_prefix(of_a);
    b.remove_prefix(of_b);
  }
  return natural_compare(a, b);
}

}  // namespace cb
