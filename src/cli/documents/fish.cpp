// A line an option, with the command at which it holds.
#include <fmt/format.h>

#include "cli/documents/completion.h"

namespace cb {
namespace {

std::string fish_quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out + "'";
}

std::string fish_words(const OptionLine& line) {
  if (line.words.empty()) return "";
  const std::string words = joined(line.words, " ");
  return " -a " + fish_quoted(line.list ? "(__clusterbench_list " + words + ")" : words);
}

// Names of files only where the value is one; fish offers them everywhere else.
std::string fish_files(const OptionLine& line) {
  return line.offers == Offers::files ? " -F"
         : line.offers == Offers::directories
             ? " -f -a '(__fish_complete_directories (commandline -ct))'"
             : " -f";
}

std::string fish_option(const std::string& start, const OptionLine& line) {
  std::string out = start;
  for (const std::string& name : line.names) {
    const bool is_long = name.starts_with("--");
    out += is_long ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!line.type.empty()) out += " -r" + fish_files(line) + fish_words(line);
  return out + " -d " + fish_quoted(line.help) + "\n";
}

std::string fish_rows(const CommandPath& c) {
  const std::string start = "complete -c clusterbench -n " +
                            fish_quoted("__clusterbench_at " + fish_quoted(joined(c.names, "/")));
  std::string out;
  for (const CommandPage& sub : c.page->commands)
    out += start + " -f -a " + sub.name + " -d " + fish_quoted(sub.summary) + "\n";
  if (!c.page->positionals.empty()) {
    const OptionLine& first = c.page->positionals.front();
    out += start + fish_files(first) + fish_words(first) + "\n";
  }
  for (const OptionLine& line : c.page->options) out += fish_option(start, line);
  return out;
}

std::string known_paths(const std::vector<CommandPath>& commands) {
  std::string out;
  for (const CommandPath& c : commands) out += c.names.empty() ? "" : " " + joined(c.names, "/");
  return out;
}

constexpr const char* kFishHead =
    R"fish(# fish completion for clusterbench, as `clusterbench documents fish` prints it

# Whether the words before the cursor name this command.
function __clusterbench_at
    set -l path ''
    set -l words (commandline -opc)
    for word in $words[2..-1]
        set -l below (string trim -l -c / -- $path/$word)
        contains -- $below $__clusterbench_paths; and set path $below
    end
    test "$path" = "$argv[1]"
end

# Each word behind those that the list at the cursor has already.
function __clusterbench_list
    set -l before (string replace -r -- '[^,=]*$' '' (string replace -r -- '^--[^=]*=' '' (commandline -ct)))
    printf '%s\n' $before$argv
end

complete -c clusterbench -f
)fish";

}  // namespace

std::string fish_completion(const CommandPage& program) {
  const std::vector<CommandPath> commands = all_commands(program);
  std::string out = kFishHead;
  out += "set -g __clusterbench_paths" + known_paths(commands) + "\n";
  for (const CommandPath& c : commands) out += fish_rows(c);
  return out;
}

}  // namespace cb
