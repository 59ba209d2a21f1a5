#pragma once

#include <mutex>
#include <optional>
#include <string>

#include "core/file.h"
#include "core/result.h"

namespace cb {

// Where a job's document goes: nowhere, to a file, to standard output, or as lines of standard
// output to the campaign in whose directory this host cannot write
// (docs/design/decisions/0113-documents-through-the-launcher.md). Rank 0 alone writes.
class DocumentPlace {
 public:
  // `path`: of --json, empty for nowhere. `token`: of --return, empty if nobody reads lines.
  DocumentPlace(std::string path, std::string token)
      : path_(std::move(path)), token_(std::move(token)) {}

  const std::string& path() const { return path_; }
  bool none() const { return path_.empty(); }
  bool is_output() const { return path_ == kStandardOutput; }
  // Looks whether this host sees the file's directory and may write there. On rank 0, before all
  // that follows.
  void look();
  // True if the document goes as lines.
  bool by_lines() const { return by_lines_; }
  // Why it cannot be written; nothing if it can, as far as can be known before.
  std::optional<std::string> why_not() const;
  // True if a document replaces the one before, so that what is unfinished can be written too.
  bool takes_unfinished() const;
  // Durable::yes for the last one, which is sent twice as lines: other output may damage a line.
  // Throws Error if nobody takes it.
  void write(const Document& document, Durable durable);

 private:
  void send(const Document& document, int copies);

  std::string path_, token_;
  bool by_lines_ = false;
  uint64_t sequence_ = 0;
  std::timed_mutex sending_;
};

// The file beside a document's that only hosts with the campaign's own directory see: the launcher
// of the job writes its output there. `path` is the document's.
std::string stream_name(const std::string& path, const std::string& token);

}  // namespace cb
