#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// A text as lines of a job's standard output, for the way back through a launcher
// (docs/design/decisions/0113-documents-through-the-launcher.md). Other programs may write between
// the lines, and a launcher may put labels in front of them.
namespace cb {

// Digits of the token that tells a job's lines from all other output.
constexpr size_t kDocumentTokenDigits = 32;
// 32 random hex digits.
std::string new_document_token();
bool is_document_token(std::string_view text);

// The text as lines of at most 1,000 bytes, each with a newline behind it. Lines of a greater
// `sequence` replace those of a smaller one. Sending the same lines again repairs what was damaged.
std::string document_lines(std::string_view token, uint64_t sequence, std::string_view text);

// Puts texts together again. A text counts only as a whole: every line is there, and its SHA-256 is
// right.
class DocumentLines {
 public:
  explicit DocumentLines(std::string token) : token_(std::move(token)) {}

  // Returns true if the line is one of document_lines() and undamaged. Everything else is text of
  // somebody else, a damaged line too. A launcher's label does not damage it, in front or, as the
  // mpirun of Open MPI 4 puts one after every 4 KiB, within the line.
  bool take(std::string_view line);
  // The whole text of the greatest sequence; nothing if no text is whole.
  const std::optional<std::string>& newest() const { return newest_; }
  // True if lines of a text came that are newer than newest() and not the whole text.
  bool torn() const { return !begun_.empty(); }

 private:
  struct Begun {
    std::string sha256;
    std::vector<std::string> pieces;
    size_t missing = 0;
  };
  bool take_undamaged(std::string_view line);
  void complete(uint64_t sequence);

  std::string token_;
  std::string label_;                // what stood in front of the last line
  std::map<uint64_t, Begun> begun_;  // by sequence; all are newer than newest_
  std::optional<std::string> newest_;
  std::optional<uint64_t> newest_sequence_;
};

}  // namespace cb
