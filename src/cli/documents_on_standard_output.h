#pragma once

#include <streambuf>
#include <string>
#include <vector>

namespace cb {

// If one of `names` is "-", standard output carries that document alone as long as this object
// lives: the text for people goes to standard error.
class DocumentsOnStandardOutput {
 public:
  // Throws UsageError if more than one of the names is "-".
  DocumentsOnStandardOutput(const std::string& command, const std::vector<std::string>& names);
  ~DocumentsOnStandardOutput();
  DocumentsOnStandardOutput(const DocumentsOnStandardOutput&) = delete;
  DocumentsOnStandardOutput& operator=(const DocumentsOnStandardOutput&) = delete;

 private:
  std::streambuf* before_ = nullptr;  // the stream buffer of std::cout; null: unchanged
};

}  // namespace cb
