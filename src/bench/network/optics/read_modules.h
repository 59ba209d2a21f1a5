#pragma once

#include "bench/harness/case.h"
#include "model/optics/audit.h"

namespace cb::net {

// A module's memory and counters as they were read; decoded where all hosts are together.
struct ReadModule {
  FittedModule fitted = {};  // without `module`
  ModuleMemory memory = {};
};

// Reads the modules of this host's Ethernet ports, and counters over the window. On a captured tree
// a memory is the file /netlink/PORT.module ("lower HEX", "BANK PAGE HEX" a line).
std::vector<ReadModule> read_modules(Context& context, const std::vector<std::string>& ports,
                                     double window_seconds);

// As text, for the way between ranks; the modules that come back are decoded.
std::string modules_text(const std::vector<ReadModule>& modules);
std::vector<FittedModule> modules_from_text(const std::string& text);

}  // namespace cb::net
