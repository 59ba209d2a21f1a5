#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cb {

// What stands in a record in place of what may be a secret.
inline constexpr std::string_view kRedacted = "[redacted]";

// Whether a variable or option of this name holds a secret: its words say so (TOKEN, PASSWORD, …).
bool names_secret(std::string_view name);

// A variable's value as it may be recorded: as it is where it has the form of a setting (words,
// numbers, lists, paths), else kRedacted.
std::string setting_or_redacted(std::string_view name, std::string_view value);

// A command line as it may be recorded: without what its option's or variable's name calls a
// secret, without a password in an address, and without words that look like keys.
std::vector<std::string> arguments_without_secrets(const std::vector<std::string>& arguments);

// Only what is called, and the names of its options.
std::vector<std::string> arguments_without_values(const std::vector<std::string>& arguments);

}  // namespace cb
