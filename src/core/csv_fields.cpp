#include "core/csv_fields.h"

namespace cb {

std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> out{""};
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

}  // namespace cb
