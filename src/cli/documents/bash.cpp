// The tables of commands, options and values, and a walk through the words that looks them up.
#include <fmt/format.h>

#include "cli/documents/completion.h"

namespace cb {
namespace {

std::vector<std::string> command_names(const std::vector<CommandPage>& pages) {
  std::vector<std::string> out;
  for (const CommandPage& page : pages) out.push_back(page.name);
  return out;
}

// "list cpu gpu": what kind of value it is, then its words.
std::string bash_value(const OptionLine& line) {
  std::string out = line.list && !line.words.empty()     ? "list"
                    : line.offers == Offers::files       ? "files"
                    : line.offers == Offers::directories ? "directories"
                                                         : "words";
  for (const std::string& word : line.words) out += " " + word;
  return out;
}

std::string bash_table(const char* name, const std::string& rows) {
  return fmt::format("_clusterbench_{}() {{\n  case $1 in\n{}  esac\n}}\n\n", name, rows);
}

std::string bash_row(const std::string& pattern, const std::string& text) {
  return text.empty() ? "" : fmt::format("    {}) echo '{}' ;;\n", pattern, text);
}

constexpr const char* kBashWalk = R"bash(_clusterbench() {
  local path='' first='' option='' word value kind mark current i
  local -a words=()
  COMPREPLY=()
  # readline splits --option=value in three.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    word=${COMP_WORDS[i]}
    if ((${#words[@]})) && [[ $word == = && ${words[-1]} == --* || ${words[-1]} == --*= ]]; then
      words[-1]+=$word
    else
      words+=("$word")
    fi
  done
  current=${words[-1]-}
  ((${#words[@]} == 0)) || unset 'words[-1]'
  for word in "${words[@]}"; do
    if [[ -n $option ]]; then
      option=''
    elif [[ $word == -- && -n $first ]]; then
      path=$first # sweep CASE -- options of the case
    elif [[ $word == -* ]]; then
      [[ -z $(_clusterbench_values "$path:$word") ]] || option=$word
    elif [[ " $(_clusterbench_commands "$path:") " == *" $word "* ]]; then
      path+=${path:+/}$word
    elif [[ -z $first && -n $(_clusterbench_options "$word:") ]]; then
      first=$word
    fi
  done
  if [[ -z $option && $current == --*=* ]]; then
    option=${current%%=*}
    current=${current#*=}
  elif [[ -z $option && $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_clusterbench_options "$path:")" -- "$current")
    return
  fi
  [[ -n $option ]] || mapfile -t COMPREPLY < <(compgen -W "$(_clusterbench_commands "$path:")" -- "$current")
  read -r kind value <<<"$(_clusterbench_values "$path:$option")"
  mark=''
  if [[ $kind == list && $current == *,* ]]; then
    mark=${current%,*},
    current=${current##*,}
  fi
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$mark" -W "$value" -- "$current")
  case $kind in
    files) compopt -o filenames && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current") ;;
    directories) compopt -o filenames && mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$current") ;;
  esac
}
complete -F _clusterbench clusterbench
)bash";

}  // namespace

std::string bash_completion(const CommandPage& program) {
  std::string commands, options, values;
  for (const CommandPath& c : all_commands(program)) {
    const std::string path = joined(c.names, "/");
    commands += bash_row(path + ":", joined(command_names(c.page->commands), " "));
    std::string names;
    for (const OptionLine& line : c.page->options) {
      names += (names.empty() ? "" : " ") + joined(line.names, " ");
      for (const std::string& name : line.names) {
        if (!line.type.empty()) values += bash_row(path + ":" + name, bash_value(line));
      }
    }
    options += bash_row(path + ":", names);
    if (!c.page->positionals.empty())
      values += bash_row(path + ":", bash_value(c.page->positionals.front()));
  }
  return "# bash completion for clusterbench, as `clusterbench documents bash` prints it\n\n" +
         bash_table("commands", commands) + bash_table("options", options) +
         bash_table("values", values) + kBashWalk;
}

}  // namespace cb
