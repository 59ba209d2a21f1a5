#pragma once

#include <vector>

#include "campaign/journal.h"
#include "core/result.h"

// A job that is measured again keeps the document of every attempt.
namespace cb {

BadNews bad_news(const Document& document);

// The document of one attempt. `adds`: its samples add to those of the attempt before it.
struct AttemptDocument {
  int number = 1;
  bool adds = false;
  Document document;
};

// Joins all attempts, which must be in order and not empty. The figures are the last attempt's,
// pooled with those of the attempts that it adds to. Attempts on another set of at least three
// hosts add their figures of hosts that still take part, and none of the set as a whole. Failed
// checks and records without a measurement come from every attempt, so no attempt takes back what
// an earlier one found. So does the inventory, if the last attempt was read without it.
Document join_attempts(std::vector<AttemptDocument> attempts);

// Index of the first document whose figures count: the last document and those that it adds to
// count.
size_t first_that_counts(const std::vector<JobEvent>& documents);

}  // namespace cb
