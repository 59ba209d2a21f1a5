// What completion offers for the value of an option, kept with the option itself.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace cb {

// Adds words to those that the option offers. They are no check: an option that takes only them
// says so itself. Returns the option.
CLI::Option* offer(CLI::Option* option, const std::vector<std::string>& words);

// The same, and every other value is refused.
CLI::Option* offer_only(CLI::Option* option, const std::vector<std::string>& words);

// The words of all calls of offer(), each once, in their order.
std::vector<std::string> offered(CLI::Option& option);

}  // namespace cb
