#pragma once

#include <vector>

#include "campaign/journal.h"
#include "core/result.h"

// A job that is measured again keeps the document of every attempt.
namespace cb {

BadNews bad_news(const Document& document);

// The document of one attempt, and whether its samples add to those of the attempt before it.
struct AttemptDocument {
  int number = 1;
  bool adds = false;
  Document document;
};

// What all attempts say together, in their order: the last one's figures, pooled with those of the
// attempts that it adds to, and of every attempt the failed checks and the records that hold no
// measurement. So no attempt takes back what an earlier one found. `attempts` is not empty.
Document join_attempts(std::vector<AttemptDocument> attempts);

// Which of these documents the figures come from: the last one and those that it adds to.
size_t first_that_counts(const std::vector<JobEvent>& documents);

}  // namespace cb
