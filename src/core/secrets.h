#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cb {

// Replaces a possible secret in a record.
inline constexpr std::string_view kRedacted = "[redacted]";

// True if a variable or option with this name holds a secret: its words say so (TOKEN, PASSWORD,
// …).
bool names_secret(std::string_view name);

// Returns a variable's value for a record: the value itself if it looks like a setting (words,
// numbers, lists, paths), else kRedacted.
std::string setting_or_redacted(std::string_view name, std::string_view value);

// Returns a command line for a record. Removes the values of options and variables whose names say
// that they are secret, passwords in addresses, and words that look like keys.
std::vector<std::string> arguments_without_secrets(const std::vector<std::string>& arguments);

// The same for what a program has printed, where a value may also follow "NAME:", "NAME =" or
// "Bearer". All behind "Authorization:" goes. The words are separated by single blanks.
std::string text_without_secrets(const std::string& text);

// Keeps only the program, its subcommand and the names of options.
std::vector<std::string> arguments_without_values(const std::vector<std::string>& arguments);

}  // namespace cb
