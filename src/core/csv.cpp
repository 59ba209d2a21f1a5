#include "core/csv.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <iconv.h>

#include "core/error.h"
#include "core/text.h"

namespace cb {
namespace {

// Returns the text in UTF-8; nothing if it is not in that encoding or the C library lacks it.
std::optional<std::string> converted(std::string bytes, const char* encoding) {
  const iconv_t converter = ::iconv_open("UTF-8", encoding);
  if (converter == reinterpret_cast<iconv_t>(-1)) return std::nullopt;
  std::string out(bytes.size() * 3 + 8, '\0');
  char *from = bytes.data(), *to = out.data();
  size_t left = bytes.size(), room = out.size();
  const size_t result = ::iconv(converter, &from, &left, &to, &room);
  ::iconv_close(converter);
  if (result == static_cast<size_t>(-1) || left != 0) return std::nullopt;
  out.resize(out.size() - room);
  return out;
}

// Blanks that spreadsheets and web pages leave around a field: also the unbroken one, the wide one
// of Chinese text, and marks without width.
constexpr std::string_view kFieldBlanks[] = {
    " ", "\t", "\xc2\xa0", "\xe3\x80\x80", "\xef\xbb\xbf", "\xe2\x80\x8b"};

std::string trimmed_field(std::string_view field) {
  const auto take = [&](auto is_there, auto remove) {
    for (bool more = true; more;) {
      more = false;
      for (const std::string_view blank : kFieldBlanks) {
        if (field.empty() || !is_there(blank)) continue;
        remove(blank.size());
        more = true;
      }
    }
  };
  take([&](std::string_view b) { return field.starts_with(b); },
       [&](size_t n) { field.remove_prefix(n); });
  take([&](std::string_view b) { return field.ends_with(b); },
       [&](size_t n) { field.remove_suffix(n); });
  return std::string(field);
}

class CsvReader {
 public:
  CsvReader(const std::string& text, const std::string& file, char separator)
      : text_(text), file_(file), separator_(separator) {}

  std::vector<CsvRow> read() {
    begin_row();
    for (at_ = 0; at_ < text_.size(); ++at_) {
      if (quoted_)
        inside();
      else
        outside();
    }
    if (quoted_) throw UsageError(file_, fmt::format("line {}", row_.line), said("csv.open_quote"));
    end_row();
    return std::move(rows_);
  }

 private:
  void inside() {
    const char c = text_[at_];
    if (c == '\n') ++line_;
    if (c != '"') {
      field_ += c;
    } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
      field_ += text_[++at_];
    } else {
      quoted_ = false;
    }
  }

  void outside() {
    const char c = text_[at_];
    if (c == '"' && field_.find_first_not_of(" \t") == std::string::npos) {
      field_.clear();
      quoted_ = true;
    } else if (c == separator_) {
      end_field();
    } else if (c == '\n' || c == '\r') {
      end_row();
      if (c == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
      ++line_;
      begin_row();
    } else {
      field_ += c;
    }
  }

  void begin_row() { row_ = {.line = line_}; }

  void end_field() {
    row_.fields.push_back(trimmed_field(field_));
    field_.clear();
  }

  void end_row() {
    end_field();
    const bool blank =
        std::ranges::all_of(row_.fields, [](const std::string& f) { return f.empty(); });
    if (!blank) rows_.push_back(std::move(row_));
  }

  const std::string& text_;
  const std::string& file_;
  char separator_;
  size_t at_ = 0, line_ = 1;
  bool quoted_ = false;
  std::string field_;
  CsvRow row_;
  std::vector<CsvRow> rows_;
};

// The separator that the first line with text has most of.
char separator_of(const std::string& text) {
  const size_t begin = text.find_first_not_of("\r\n");
  if (begin == std::string::npos) return ',';
  const std::string_view line =
      std::string_view(text).substr(begin, text.find_first_of("\r\n", begin) - begin);
  char best = ',';
  for (const char c : {';', '\t'}) {
    if (std::ranges::count(line, c) > std::ranges::count(line, best)) best = c;
  }
  return best;
}

}  // namespace

std::string decoded_text(const std::string& bytes, const std::string& file) {
  const bool wide = bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff");
  if (!wide && is_utf8(bytes)) return std::string(without_byte_order_mark(bytes));
  const auto out = converted(bytes, wide ? "UTF-16" : "GB18030");
  if (!out || out->find('\0') != std::string::npos)
    throw UsageError(file, "", said("csv.not_text"));
  return *out;
}

void refuse_longer_rows(const std::vector<CsvRow>& rows, const std::string& file) {
  if (rows.empty()) return;
  const size_t columns = rows.front().fields.size();
  for (const CsvRow& row : rows) {
    for (size_t i = columns; i < row.fields.size(); ++i) {
      if (!row.fields[i].empty())
        throw UsageError(file, fmt::format("line {}", row.line),
                         said("csv.longer_row", row.fields.size(), columns));
    }
  }
}

std::vector<CsvRow> read_csv(const std::string& bytes, const std::string& file) {
  const std::string text = decoded_text(bytes, file);
  if (text.find('\0') != std::string::npos) throw UsageError(file, "", said("csv.not_text"));
  std::vector<CsvRow> rows = CsvReader(text, file, separator_of(text)).read();
  // Excel's word for the separator stands in front of the table.
  if (!rows.empty() && rows.front().fields.front() == "sep=") rows.erase(rows.begin());
  return rows;
}

}  // namespace cb
