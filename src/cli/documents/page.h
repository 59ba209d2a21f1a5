// What is known of a command from its definition, without the library that parses it: manual pages
// and completion are made of this.
#pragma once

#include <string>
#include <vector>

namespace cb {

// Which names completion may offer beside an option's words.
enum class Offers { nothing, files, directories };

struct OptionLine {
  std::vector<std::string> names;  // "-V", "--version"; of a positional its one name without dashes
  std::string type;                // "FILE"; empty: takes no value
  std::string limits;              // "INT in [1 - 4096]"; may be empty
  std::string help;
  std::vector<std::string> words;  // the values that are known
  Offers offers = Offers::nothing;
  bool list = false;  // several values with commas between them
  bool required = false;
  bool repeats = false;
};

struct CommandPage {
  std::string name;
  std::string group;
  std::string summary;
  std::string footer;
  std::vector<OptionLine> options;
  std::vector<OptionLine> positionals;
  std::vector<CommandPage> commands;
};

// A command below the program, by the names that lead to it: {"signoff", "verify"}.
struct CommandPath {
  std::vector<std::string> names;
  const CommandPage* page = nullptr;
};

// The program itself, whose path is empty, and every command below it.
std::vector<CommandPath> all_commands(const CommandPage& program);

// The names with a mark between them.
std::string joined(const std::vector<std::string>& names, const std::string& mark);

}  // namespace cb
