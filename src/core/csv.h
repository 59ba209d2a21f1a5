#pragma once

#include <string>
#include <vector>

namespace cb {

// One row of a table and the line on which it begins.
struct CsvRow {
  size_t line = 0;
  std::vector<std::string> fields = {};  // without blanks of any kind around them
};

// Reads CSV as people write it (RFC 4180): commas, semicolons or tabs, whichever the first row has
// most of; quoted fields with separators, doubled quotes and line ends in them; a byte order mark;
// \r\n; blank lines, rows of empty fields and Excel's first line "sep=;", which are passed over.
// UTF-8, UTF-16 with its mark, and else GB 18030, of which GBK is a part. Throws UsageError with
// `file` and the line for a quote that does not end and for text in no such encoding.
std::vector<CsvRow> read_csv(const std::string& bytes, const std::string& file);

// Throws UsageError for a row with something behind the last column of the first row: an unquoted
// separator has moved its fields.
void refuse_longer_rows(const std::vector<CsvRow>& rows, const std::string& file);

// The text in UTF-8 without byte order mark; as above.
std::string decoded_text(const std::string& bytes, const std::string& file);

}  // namespace cb
