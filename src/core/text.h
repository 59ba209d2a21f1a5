#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cb {

// Makes text from outside harmless for a terminal and for XML. Control characters (also C1 and
// bidirectional overrides), invisible characters, noncharacters and invalid UTF-8 become '?'.
// Newlines and tabs become spaces.
std::string terminal_safe(std::string_view text);

// Returns a JSON text with the same value, in which such characters are \u escapes: a reader of the
// file sees them.
std::string json_safe(std::string_view json);

// True if a reader would see nothing: blanks, also those of other scripts, and what terminal_safe()
// replaces.
bool is_blank(std::string_view text);

// The text without the byte order mark that editors put before UTF-8.
std::string_view without_byte_order_mark(std::string_view text);

// True if all of the text is UTF-8.
bool is_utf8(std::string_view text);

// Returns the columns that the text takes in a terminal (UTF-8; East Asian wide characters count
// two).
size_t display_width(std::string_view text);

// Returns the text padded with spaces to at least `width` columns.
std::string pad_right(std::string_view text, size_t width);
std::string pad_left(std::string_view text, size_t width);

// Formats rows of cells as aligned columns; column i is right-aligned if right[i]. The first row is
// the heading.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<bool>& right);

}  // namespace cb
