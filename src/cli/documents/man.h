#pragma once

#include <string>

#include "cli/documents/page.h"

namespace cb {

struct ManFacts {
  std::string version;
  std::string date;  // 2026-11-24
};

// clusterbench.1: the program, its commands and exit codes.
std::string program_manual(const CommandPage& program, const ManFacts& facts);
// clusterbench-NAME.1: a command with the commands below it.
std::string command_manual(const CommandPage& program, const CommandPage& command,
                           const ManFacts& facts);

// A text as roff shows it: ASCII alone, nothing of it a request or an escape.
std::string roff_text(const std::string& text);

}  // namespace cb
