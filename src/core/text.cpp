#include "core/text.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>

#include <fmt/format.h>

namespace cb {
namespace {

struct Decoded {
  uint32_t code;
  size_t length;
};

// Decodes one UTF-8 character at the start of the text; nothing if it is invalid (also for overlong
// forms and surrogates).
std::optional<Decoded> decode(std::string_view text) {
  const auto byte = [&](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>(text[i]));
  };
  const uint32_t first = byte(0);
  if (first < 0x80) return Decoded{first, 1};
  const size_t length = first >= 0xF0 && first < 0xF5 ? 4
                        : first >= 0xE0               ? 3
                        : first >= 0xC2               ? 2
                                                      : 0;
  if (length == 0 || first >= 0xF5 || text.size() < length) return std::nullopt;
  uint32_t code = first & (0xFFU >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return std::nullopt;
    code = code << 6 | (byte(i) & 0x3FU);
  }
  constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < least[length] || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
    return std::nullopt;
  return Decoded{code, length};
}

struct Range {
  uint32_t first, last;
};

// Each range is from chapters 2.4 and 23.2 to 23.9 of the Unicode standard.
constexpr Range kHarmful[] = {
    {0x00, 0x1F},                         // C0
    {0x7F, 0x9F},                         // DEL, C1
    {0xAD, 0xAD},                         // soft hyphen: visible only at the end of a line
    {0x061C, 0x061C},                     // bidirectional marks, overrides and isolates
    {0x180E, 0x180E},                     // an invisible separator
    {0x200B, 0x200B},  {0x200E, 0x200F},  // blanks without a width
    {0x2028, 0x202E},                     // separators of lines, bidirectional overrides
    {0x2060, 0x206F},                     // invisible operators, isolates, deprecated controls
    {0xFDD0, 0xFDEF},                     // noncharacters, which XML 1.0 discourages
    {0xFEFF, 0xFEFF},  {0xFFF9, 0xFFFB},  // BOM, interlinear notes
    {0xFFFE, 0xFFFF},                     // noncharacters: XML with one is not well-formed
    {0xE0000, 0xE007F}};                  // tags: a hidden text within the text

bool harmful(uint32_t code) {
  const auto holds = [&](const Range& r) { return code >= r.first && code <= r.last; };
  return std::any_of(std::begin(kHarmful), std::end(kHarmful), holds) || (code & 0xFFFE) == 0xFFFE;
}

// True if it takes no column of its own: combining accents, joiners, variation selectors.
bool is_zero_width(uint32_t code) {
  return (code >= 0x0300 && code <= 0x036F) || (code >= 0x200B && code <= 0x200D) ||
         (code >= 0xFE00 && code <= 0xFE0F);
}

bool is_wide(uint32_t code) {
  return (code >= 0x1100 && code <= 0x115F) || (code >= 0x2E80 && code <= 0xA4CF) ||
         (code >= 0xAC00 && code <= 0xD7A3) || (code >= 0xF900 && code <= 0xFAFF) ||
         (code >= 0xFE30 && code <= 0xFE6F) || (code >= 0xFF00 && code <= 0xFF60) ||
         (code >= 0xFFE0 && code <= 0xFFE6) || (code >= 0x1F300 && code <= 0x1F64F) ||
         (code >= 0x1F900 && code <= 0x1F9FF) || (code >= 0x20000 && code <= 0x3FFFD);
}

}  // namespace

std::string terminal_safe(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const auto character = decode(text);
    const size_t length = character ? character->length : 1;
    if (text[0] == '\n' || text[0] == '\t') {
      out += ' ';
    } else if (!character || harmful(character->code)) {
      out += '?';
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string json_safe(std::string_view json) {
  std::string out;
  while (!json.empty()) {
    const auto character = decode(json);
    const size_t length = character ? character->length : 1;
    if (character && character->code >= 0x7F && harmful(character->code)) {
      const uint32_t code = character->code, above = code - 0x10000;
      out += code < 0x10000 ? fmt::format("\\u{:04x}", code)
                            : fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (above >> 10),
                                          0xDC00 + (above & 0x3FF));
    } else {
      out += json.substr(0, length);
    }
    json.remove_prefix(length);
  }
  return out;
}

bool is_blank(std::string_view text) {
  const std::string shown = terminal_safe(text);
  std::string_view rest = shown;
  while (!rest.empty()) {
    size_t blank = 0;
    for (const std::string_view sign : {" ", "\u00A0", "\u3000", "\u2003", "?"}) {
      if (rest.starts_with(sign)) blank = sign.size();
    }
    if (blank == 0) return false;
    rest.remove_prefix(blank);
  }
  return true;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto character = decode(text);
    if (!character) return false;
    text.remove_prefix(character->length);
  }
  return true;
}

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const auto character = decode(text);
    if (!character || !is_zero_width(character->code))
      width += character && is_wide(character->code) ? 2 : 1;
    text.remove_prefix(character ? character->length : 1);
  }
  return width;
}

std::string pad_right(std::string_view text, size_t width) {
  const size_t have = display_width(text);
  return std::string(text) + std::string(width > have ? width - have : 0, ' ');
}

std::string pad_left(std::string_view text, size_t width) {
  const size_t have = display_width(text);
  return std::string(width > have ? width - have : 0, ' ') + std::string(text);
}

std::string text_table(const std::vector<std::vector<std::string>>& rows,
                       const std::vector<bool>& right) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], display_width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line +=
          i < right.size() && right[i] ? pad_left(row[i], widths[i]) : pad_right(row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

}  // namespace cb
