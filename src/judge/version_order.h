#pragma once

#include <optional>
#include <string_view>

namespace cb {

// The order of two versions by natural_compare(): below, equal to or above 0. Nothing if one is
// empty, or if a digit of the one stands against a letter of the other: "N/A" is neither older nor
// newer than "28.39". Where both are fields of two hexadecimal digits with dots between them, as a
// VBIOS has ("96.00.9F.00.01"), these digits are compared.
std::optional<int> version_order(std::string_view a, std::string_view b);

}  // namespace cb
