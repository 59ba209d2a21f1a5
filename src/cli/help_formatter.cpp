#include "cli/help_formatter.h"

#include "core/text.h"

namespace cb {

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  constexpr std::string_view kMark = "{false}";
  std::string name = make_option_name(option, is_positional);
  if (const size_t at = name.find(kMark); at != std::string::npos) name.erase(at, kMark.size());
  const bool is_flag = option->get_items_expected_max() == 0;  // CLI11 2.4 shows its 0
  std::string line = "  " + name + (is_flag ? "" : make_option_opts(option));
  const size_t column = get_column_width(), used = display_width(line);
  const std::string text = make_option_desc(option);
  if (text.empty()) return line + '\n';
  line += used < column ? std::string(column - used, ' ') : '\n' + std::string(column, ' ');
  for (const char c : text) {
    line += c;
    if (c == '\n') line.append(column, ' ');
  }
  return line + '\n';
}

}  // namespace cb
