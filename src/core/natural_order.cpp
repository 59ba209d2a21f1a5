#include "core/natural_order.h"

#include <algorithm>

namespace cb {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// Takes the number at the front of the text away and returns it without leading zeros.
std::string_view take_number(std::string_view& text) {
  size_t end = 0;
  while (end < text.size() && is_decimal(text[end])) ++end;
  std::string_view out = text.substr(0, end);
  text.remove_prefix(end);
  while (out.size() > 1 && out.front() == '0') out.remove_prefix(1);
  return out;
}

int sign_of(int value) { return value < 0 ? -1 : value > 0 ? 1 : 0; }

}  // namespace

int natural_compare(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    if (is_decimal(a.front()) && is_decimal(b.front())) {
      const std::string_view x = take_number(a), y = take_number(b);
      if (x.size() != y.size()) return x.size() < y.size() ? -1 : 1;
      if (const int order = x.compare(y); order != 0) return sign_of(order);
      continue;
    }
    const auto x = static_cast<unsigned char>(a.front()), y = static_cast<unsigned char>(b.front());
    if (x != y) return x < y ? -1 : 1;
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  return a.empty() == b.empty() ? 0 : a.empty() ? -1 : 1;
}

}  // namespace cb
