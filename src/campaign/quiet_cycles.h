// Less memory for the cycles of a soak of which a judgement needs figures and checks alone.
#pragma once

#include <mutex>
#include <set>

#include "core/messages/said.h"
#include "core/result.h"

namespace cb {

void drop_time_lines(Document& document);
// Of all samples only the summaries stay.
void keep_summaries(Document& document);

// Makes documents share the sentences that they have in common: a ceiling's derivation, a fact or a
// note is the same in every cycle. Several threads may use one pool.
class TextPool {
 public:
  void share(Document& document);

 private:
  struct InOrder {
    bool operator()(const Said& a, const Said& b) const {
      return a.text() != b.text() ? a.text() < b.text() : a.message() < b.message();
    }
  };
  void share(Said& text);

  std::mutex busy_;
  std::set<Said, InOrder> texts_;
};

}  // namespace cb
