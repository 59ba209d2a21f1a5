#pragma once

#include <string>

namespace cb {

// The text with A to Z as a to z. Other letters stay, as in names of hosts and devices.
std::string in_small_letters(std::string text);

}  // namespace cb
