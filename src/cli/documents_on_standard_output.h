#pragma once

#include <optional>
#include <streambuf>
#include <string>
#include <vector>

#include "core/standard_output.h"

namespace cb {

// If one of `names` is "-", standard output carries that document alone as long as this object
// lives: the text for people, and what libraries print, goes to standard error.
class DocumentsOnStandardOutput {
 public:
  // Throws UsageError if more than one of the names is "-".
  DocumentsOnStandardOutput(const std::string& command, const std::vector<std::string>& names);
  ~DocumentsOnStandardOutput();
  DocumentsOnStandardOutput(const DocumentsOnStandardOutput&) = delete;
  DocumentsOnStandardOutput& operator=(const DocumentsOnStandardOutput&) = delete;

 private:
  std::optional<DocumentOutput> alone_;
  std::streambuf* before_ = nullptr;  // the stream buffer of std::cout; null: unchanged
};

}  // namespace cb
