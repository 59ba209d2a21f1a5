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

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

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
    const size_t begin = field_.find_first_not_of(" \t");
    const size_t end = field_.find_last_not_of(" \t");
    row_.fields.push_back(begin == std::string::npos ? "" : field_.substr(begin, end + 1 - begin));
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
  if (!wide && is_utf8(bytes)) return bytes.starts_with(kByteOrderMark) ? bytes.substr(3) : bytes;
  const auto out = converted(bytes, wide ? "UTF-16" : "GB18030");
  if (!out || out->find('\0') != std::string::npos)
    throw UsageError(file, "", said("csv.not_text"));
  return *out;
}

std::vector<CsvRow> read_csv(const std::string& bytes, const std::string& file) {
  const std::string text = decoded_text(bytes, file);
  if (text.find('\0') != std::string::npos) throw UsageError(file, "", said("csv.not_text"));
  return CsvReader(text, file, separator_of(text)).read();
}

}  // namespace cb
