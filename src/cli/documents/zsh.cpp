// One function a command with the options as _arguments takes them.
#include <fmt/format.h>

#include "cli/documents/completion.h"

namespace cb {
namespace {

// Within single quotes, in a description that ] or : would end.
std::string zsh_described(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n')
      out += ' ';
    else if (c == '\'')
      out += "'\\''";
    else if (c == '[' || c == ']' || c == ':' || c == '\\')
      out += std::string("\\") + c;
    else
      out += c;
  }
  return out;
}

std::string zsh_name(const std::vector<std::string>& names) {
  return "_clusterbench" + (names.empty() ? "" : "_" + joined(names, "_"));
}

std::string zsh_kind(const OptionLine& line) {
  if (line.list && !line.words.empty()) return "list";
  return line.offers == Offers::files         ? "files"
         : line.offers == Offers::directories ? "directories"
                                              : "words";
}

// ":TYPE: _clusterbench_offer list fp64 fp32"
std::string zsh_action(const OptionLine& line) {
  std::string out = ":" + zsh_described(line.type) + ": _clusterbench_offer " + zsh_kind(line);
  for (const std::string& word : line.words) out += " " + word;
  return out;
}

std::string option_specs(const CommandPage& page) {
  std::string out;
  for (const OptionLine& line : page.options) {
    for (const std::string& name : line.names) {
      const bool value = !line.type.empty();
      out += fmt::format("    '{}{}{}[{}]{}' \\\n", line.repeats ? "*" : "", name,
                         value && name.starts_with("--") ? "=" : "", zsh_described(line.help),
                         value ? zsh_action(line) : "");
    }
  }
  return out;
}

std::string positional_specs(const CommandPage& page) {
  std::string out;
  for (const OptionLine& line : page.positionals) {
    out += fmt::format("    '{}{}' \\\n", line.repeats ? "*" : ":", zsh_action(line));
  }
  return out;
}

std::string subcommand_calls(const CommandPath& c) {
  std::string out = "  case $state in\n    command)\n      local -a commands=(\n";
  for (const CommandPage& sub : c.page->commands)
    out += fmt::format("        '{}:{}'\n", sub.name, zsh_described(sub.summary));
  out += "      )\n      _describe command commands\n";
  const OptionLine* first = c.page->positionals.empty() ? nullptr : &c.page->positionals.front();
  if (first != nullptr) {
    out += "      _clusterbench_offer " + zsh_kind(*first);
    for (const std::string& word : first->words) out += " " + word;
    out += "\n";
  }
  out += "      ;;\n    words)\n      case $words[1] in\n";
  for (const CommandPage& sub : c.page->commands) {
    std::vector<std::string> names = c.names;
    names.push_back(sub.name);
    out += fmt::format("        {}) {} ;;\n", sub.name, zsh_name(names));
  }
  return out + "      esac\n      ;;\n  esac\n";
}

std::string zsh_function(const CommandPath& c) {
  const bool commands = !c.page->commands.empty();
  std::string out = zsh_name(c.names) + "() {\n";
  if (commands) out += "  local context state state_descr line\n  typeset -A opt_args\n";
  out += "  _arguments -s " + std::string(commands ? "-C \\\n" : "\\\n") + option_specs(*c.page);
  out += commands ? "    '1: :->command' '*:: :->words'\n"
                  : positional_specs(*c.page) + "    && return 0\n";
  return out + (commands ? subcommand_calls(c) : "") + "}\n\n";
}

constexpr const char* kZshHead = R"zsh(#compdef clusterbench
# zsh completion for clusterbench, as `clusterbench documents zsh` prints it

# _clusterbench_offer KIND WORDS…: the words; of a list another one behind each comma; names of files.
_clusterbench_offer() {
  local kind=$1 failed=1
  shift
  if (($#)); then
    if [[ $kind == list ]]; then
      _sequence -s , compadd - "$@" && failed=0
    else
      compadd - "$@" && failed=0
    fi
  fi
  case $kind in
    files) _files && failed=0 ;;
    directories) _files -/ && failed=0 ;;
  esac
  return failed
}

)zsh";

}  // namespace

std::string zsh_completion(const CommandPage& program) {
  std::string out = kZshHead;
  for (const CommandPath& c : all_commands(program)) out += zsh_function(c);
  return out + "_clusterbench \"$@\"\n";
}

}  // namespace cb
