#pragma once

#include <streambuf>
#include <string>
#include <vector>

namespace cb {

// As long as this lives, and one of `names` is "-", that document has standard output for itself:
// what people read there goes to standard error.
class DocumentsOnStandardOutput {
 public:
  // Throws UsageError if more than one of the names is "-".
  DocumentsOnStandardOutput(const std::string& command, const std::vector<std::string>& names);
  ~DocumentsOnStandardOutput();
  DocumentsOnStandardOutput(const DocumentsOnStandardOutput&) = delete;
  DocumentsOnStandardOutput& operator=(const DocumentsOnStandardOutput&) = delete;

 private:
  std::streambuf* before_ = nullptr;  // of std::cout
};

}  // namespace cb
