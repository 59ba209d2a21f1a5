#pragma once

#include "core/descriptor.h"

namespace cb {

// The descriptor to which the name "-" is written: 1, or where a DocumentOutput has put standard
// output.
int document_output();

// As long as this object lives, descriptor 1 is standard error, so that a library, or a program
// that is started, prints nothing into the document that standard output carries. Without a free
// descriptor nothing changes.
class DocumentOutput {
 public:
  DocumentOutput();
  ~DocumentOutput();
  DocumentOutput(const DocumentOutput&) = delete;
  DocumentOutput& operator=(const DocumentOutput&) = delete;

 private:
  Descriptor before_;  // standard output
};

}  // namespace cb
