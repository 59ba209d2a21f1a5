#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cb {

// Text from outside made harmless for a terminal and for XML: control characters (also C1 and
// bidirectional overrides), characters that nothing shows, numbers that are no characters and
// invalid UTF-8 become '?'. Newlines and tabs become spaces.
std::string terminal_safe(std::string_view text);

// A JSON text with the same value, in which such characters stand as \u escapes: whoever looks at
// the file sees that they are there.
std::string json_safe(std::string_view json);

// Whether nobody would see anything of it: blanks, also of other scripts, and what terminal_safe()
// takes out.
bool is_blank(std::string_view text);

// Whether all of the text is UTF-8.
bool is_utf8(std::string_view text);

// Columns that the text takes in a terminal (UTF-8; East Asian wide characters count two).
size_t display_width(std::string_view text);

// The text padded with spaces to at least `width` columns.
std::string pad_right(std::string_view text, size_t width);
std::string pad_left(std::string_view text, size_t width);

// Rows of cells as aligned columns; column i is right-aligned where right[i]. The first row is the
// heading.
std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<bool>& right);

}  // namespace cb
