// Lines of a board that is drawn over itself: what fits a terminal, and how to take it off again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cb {

struct TerminalSize {
  size_t columns = 80, rows = 24;  // where the terminal does not say
};
TerminalSize terminal_size(int descriptor);

// True if a board can be drawn there: it is a terminal that moves its cursor (TERM is neither
// unset, empty nor "dumb").
bool can_draw(int descriptor);

// The text as far as it fits, with an ellipsis where something is left out. Wide characters take
// two columns.
std::string cut_to_width(std::string_view text, size_t columns);

// The lines that fit: each is cut, and of too many the last are left out. One column and one row
// stay free, since a terminal breaks a line that fills it.
std::vector<std::string> fit_lines(const std::vector<std::string>& lines, TerminalSize size);

// The rows that lines of these widths take, on a terminal that may have become narrower since they
// were drawn: it breaks them.
size_t rows_of(const std::vector<size_t>& widths, size_t columns);

}  // namespace cb
