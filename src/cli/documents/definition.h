#pragma once

#include <CLI/CLI.hpp>

#include "cli/documents/page.h"

namespace cb {

// Reads a command's definition; hidden commands and options are left out.
CommandPage page_of(CLI::App& app);

}  // namespace cb
