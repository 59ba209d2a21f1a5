#pragma once

#include <string_view>

namespace cb {

// Compares texts as people order versions: digits by their number, everything else sign by sign, so
// that "535.98" comes before "535.129" and "28.39.1002" before "28.39.10020". Returns a number
// below, equal to or above 0. Leading zeros count nothing: "03" equals "3". A text that ends
// earlier comes first.
int natural_compare(std::string_view a, std::string_view b);

}  // namespace cb
