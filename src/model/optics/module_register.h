// Who made the modules and which they are: what the asset register takes from a record. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/optics/audit.h"

namespace cb {

struct RegisteredModule {
  std::string host, port, vendor, part_number, serial, firmware;
  auto operator<=>(const RegisteredModule&) const = default;
};

// The record's fact that holds them, as one line of JSON.
constexpr const char* kModuleRegisterFact = "module_register";
// Says that they were read from files: the record's host is not theirs.
constexpr const char* kModuleFilesFact = "modules_from";
std::string module_register_text(const std::vector<FittedModule>& modules);
// Nothing of a text that is none.
std::vector<RegisteredModule> parse_module_register(std::string_view text);

}  // namespace cb
