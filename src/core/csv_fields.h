#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cb {

// The fields of one line as ibdiagnet writes it: commas divide, within quotes they do not. Quotes
// go; blanks stay.
std::vector<std::string> csv_fields(std::string_view line);

}  // namespace cb
