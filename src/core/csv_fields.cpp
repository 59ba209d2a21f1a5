#include "core/csv_fields.h"

namespace cb {

std::vector<std::string> csv_fields(std::string_view line) {
  std::vector<std::string> out{""};
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const bool quote = line[i] == '"';
    if (quote && quoted && i + 1 < line.size() && line[i + 1] == '"')
      out.back() += line[++i];
    else if (quote)
      quoted = !quoted;
    else if (line[i] == ',' && !quoted)
      out.emplace_back();
    else
      out.back() += line[i];
  }
  return out;
}

}  // namespace cb
