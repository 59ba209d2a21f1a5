#include "cli/documents/page.h"

namespace cb {
namespace {

void collect(const CommandPage& page, const std::vector<std::string>& names,
             std::vector<CommandPath>& out) {
  out.push_back({names, &page});
  for (const CommandPage& command : page.commands) {
    std::vector<std::string> below = names;
    below.push_back(command.name);
    collect(command, below, out);
  }
}

}  // namespace

std::vector<CommandPath> all_commands(const CommandPage& program) {
  std::vector<CommandPath> out;
  collect(program, {}, out);
  return out;
}

std::string joined(const std::vector<std::string>& names, const std::string& mark) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : mark) + name;
  return out;
}

}  // namespace cb
