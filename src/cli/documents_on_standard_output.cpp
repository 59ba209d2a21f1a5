#include "cli/documents_on_standard_output.h"

#include <algorithm>
#include <iostream>

#include "cli/standard_descriptors.h"
#include "core/error.h"
#include "core/file.h"

namespace cb {

DocumentsOnStandardOutput::DocumentsOnStandardOutput(const std::string& command,
                                                     const std::vector<std::string>& names) {
  const auto count = std::count(names.begin(), names.end(), kStandardOutput);
  if (count == 0) return;
  if (count > 1)
    throw UsageError(command, "-",
                     "standard output has room for one document: name files for the others");
  if (standard_output_was_closed())
    throw UsageError(command, "-", "standard output is closed: name a file for the document");
  std::cout.flush();
  alone_.emplace();
  before_ = std::cout.rdbuf(std::cerr.rdbuf());
}

DocumentsOnStandardOutput::~DocumentsOnStandardOutput() {
  if (before_ == nullptr) return;
  std::cout.flush();
  std::cout.rdbuf(before_);
}

}  // namespace cb
