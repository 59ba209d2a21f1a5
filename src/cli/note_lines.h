#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/messages/said.h"

namespace cb {

// A note of a record, with the record's place and label in the table.
struct LabelledNote {
  size_t record = 0;
  std::string label;
  Said note;
};

// The notes below a table, each once. A note of some of the `measured` records has their labels
// before it, up to a few. Counts of looks, as of a GPU at its power limit, are added up. Safe for a
// terminal.
std::string note_lines(const std::vector<LabelledNote>& notes, size_t measured);

// The same texts of several records as one, with their number, in the order of their first ones.
std::vector<std::string> each_once(const std::vector<std::string>& texts);

}  // namespace cb
