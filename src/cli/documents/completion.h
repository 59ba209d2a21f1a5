#pragma once

#include <string>

#include "cli/documents/page.h"

namespace cb {

// Scripts for the shells: commands, options, and the values that are known. Each needs its shell
// alone and starts nothing.
std::string bash_completion(const CommandPage& program);
std::string zsh_completion(const CommandPage& program);
std::string fish_completion(const CommandPage& program);

}  // namespace cb
