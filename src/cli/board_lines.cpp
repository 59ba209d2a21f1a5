#include "cli/board_lines.h"

#include <sys/ioctl.h>

#include <algorithm>
#include <cstdlib>

#include <unistd.h>

#include "core/text.h"

namespace cb {
namespace {

constexpr std::string_view kEllipsis = "…";

// The length in bytes of the character that begins with this byte.
size_t character_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

}  // namespace

TerminalSize terminal_size(int descriptor) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0 || size.ws_col == 0 || size.ws_row == 0)
    return {};
  return {size.ws_col, size.ws_row};
}

bool can_draw(int descriptor) {
  const char* term = std::getenv("TERM");
  if (term == nullptr || std::string_view(term).empty() || std::string_view(term) == "dumb")
    return false;
  return ::isatty(descriptor) == 1;
}

std::string cut_to_width(std::string_view text, size_t columns) {
  if (display_width(text) <= columns) return std::string(text);
  std::string out;
  size_t used = display_width(kEllipsis);
  for (size_t at = 0; at < text.size();) {
    const std::string_view one = text.substr(at, character_bytes(text[at]));
    used += display_width(one);
    if (used > columns) break;
    out += one;
    at += one.size();
  }
  return columns == 0 ? "" : out + std::string(kEllipsis);
}

std::vector<std::string> fit_lines(const std::vector<std::string>& lines, TerminalSize size) {
  const size_t most = std::max<size_t>(size.rows, 2) - 1;
  std::vector<std::string> out;
  for (const std::string& line : lines) {
    if (out.size() == most) break;
    out.push_back(cut_to_width(line, std::max<size_t>(size.columns, 2) - 1));
  }
  return out;
}

size_t rows_of(const std::vector<size_t>& widths, size_t columns) {
  size_t out = 0;
  for (const size_t width : widths)
    out += columns == 0 ? 1 : std::max<size_t>(1, (width + columns - 1) / columns);
  return out;
}

}  // namespace cb
