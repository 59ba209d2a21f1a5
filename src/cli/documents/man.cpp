// Manual pages in the man(7) macros, which groff and mandoc both read.
#include "cli/documents/man.h"

#include <algorithm>
#include <array>
#include <sstream>

#include <fmt/format.h>

#include "core/exit_code.h"
#include "core/text.h"

namespace cb {
namespace {

struct ExitMeaning {
  ExitCode code;
  const char* meaning;
};
constexpr std::array kExitMeanings{
    ExitMeaning{ExitCode::ok, "accepted, or measured without a failed check"},
    ExitMeaning{ExitCode::not_accepted,
                "not accepted: a criterion fails, or measured data is wrong"},
    ExitMeaning{ExitCode::usage, "usage or configuration: bad options, profile or input file"},
    ExitMeaning{ExitCode::incomplete,
                "incomplete: something asked for could not be measured, or the evidence is not as "
                "the run left it"},
    ExitMeaning{ExitCode::runtime, "a failure while running"},
    ExitMeaning{ExitCode::deadline, "a deadline passed"},
    ExitMeaning{ExitCode::interrupted, "interrupted"},
};

// The code point that begins at `at`, which moves behind it. The text is UTF-8 of our own sources.
char32_t next_code_point(const std::string& text, size_t& at) {
  const auto byte = static_cast<unsigned char>(text[at++]);
  if (byte < 0x80) return byte;
  const int more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : 1;
  char32_t point = byte & (0x3fU >> more);
  for (int i = 0; i < more && at < text.size(); ++i)
    point = (point << 6U) | (static_cast<unsigned char>(text[at++]) & 0x3fU);
  return point;
}

std::string man_heading(const std::string& title, const ManFacts& facts) {
  std::string large;
  for (const char c : title) large += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return fmt::format(".TH {} 1 {} \"clusterbench {}\" \"clusterbench\"\n", roff_text(large),
                     facts.date, facts.version);
}

std::string option_term(const OptionLine& line, bool positional) {
  std::string out;
  for (const std::string& name : line.names) {
    out += out.empty() ? "" : ", ";
    out += (positional ? "\\fI" : "\\fB") + roff_text(name) + "\\fR";
  }
  if (!line.type.empty()) out += " \\fI" + roff_text(line.type) + "\\fR";
  return out;
}

std::string option_list(const std::vector<OptionLine>& lines, bool positional) {
  std::string out;
  for (const OptionLine& line : lines) {
    std::string help = roff_text(line.help);
    if (!line.limits.empty()) help += " (" + roff_text(line.limits) + ")";
    out += ".TP\n" + option_term(line, positional) + "\n" + help + "\n";
  }
  return out;
}

std::string man_synopsis(const std::string& called, const CommandPage& page) {
  std::string out = ".B " + roff_text(called) + "\n[\\fIOPTIONS\\fR]\n";
  for (const OptionLine& line : page.positionals) {
    const std::string name = "\\fI" + roff_text(line.names.front()) + "\\fR";
    out += (line.required ? name : "[" + name + "]") + "\n";
  }
  if (!page.commands.empty()) out += "[\\fISUBCOMMAND\\fR]\n";
  return out;
}

// Lines of the footer as they stand, each section with its lines.
struct ManFooter {
  std::vector<std::string> notes;
  std::vector<std::string> examples;
};

ManFooter man_footer(const CommandPage& page) {
  ManFooter out;
  std::istringstream in(page.footer);
  bool examples = false;
  for (std::string line; std::getline(in, line);) {
    if (line == "Example:" || line == "Examples:")
      examples = true;
    else if (!line.empty())
      (examples ? out.examples : out.notes).push_back(line);
  }
  return out;
}

std::string man_literal(const std::vector<std::string>& lines) {
  std::string out = ".nf\n";
  for (const std::string& line : lines)
    out += roff_text(line.substr(line.find_first_not_of(' '))) + "\n";
  return out + ".fi\n";
}

std::string notes_and_examples(const CommandPage& page, const char* section) {
  const ManFooter footer = man_footer(page);
  std::string out;
  if (!footer.notes.empty()) {
    out += fmt::format("{} NOTES\n", section);
    for (size_t i = 0; i < footer.notes.size(); ++i)
      out += (i == 0 ? "" : ".br\n") + roff_text(footer.notes[i]) + "\n";
  }
  if (!footer.examples.empty())
    out += fmt::format("{} EXAMPLES\n", section) + man_literal(footer.examples);
  return out;
}

std::string man_exit_codes() {
  std::string out = ".SH EXIT STATUS\n";
  for (const ExitMeaning& e : kExitMeanings)
    out += fmt::format(".TP\n.B {}\n{}\n", static_cast<int>(e.code), roff_text(e.meaning));
  return out;
}

// The commands in the groups of --help, in the order in which a group first comes.
std::string commands_by_group(const CommandPage& page, const char* section, const char* entry) {
  std::vector<std::string> groups;
  for (const CommandPage& c : page.commands) {
    if (std::ranges::find(groups, c.group) == groups.end()) groups.push_back(c.group);
  }
  std::string out;
  for (const std::string& group : groups) {
    if (groups.size() > 1) out += fmt::format("{} {}\n", section, roff_text(group));
    for (const CommandPage& c : page.commands) {
      if (c.group == group)
        out += ".TP\n" + fmt::format(fmt::runtime(entry), roff_text(c.name)) + "\n" +
               roff_text(c.summary) + "\n";
    }
  }
  return out;
}

// A command below a command: its options stand in a subsection.
std::string man_below(const CommandPage& command, const std::string& called) {
  std::string out = fmt::format(".SS {}\n", roff_text(called + " " + command.name));
  out += man_synopsis(called + " " + command.name, command) + ".PP\n" + roff_text(command.summary) +
         "\n";
  out += option_list(command.positionals, true) + option_list(command.options, false);
  const ManFooter footer = man_footer(command);
  for (const std::string& note : footer.notes) out += ".PP\n" + roff_text(note) + "\n";
  if (!footer.examples.empty()) out += ".PP\n" + man_literal(footer.examples);
  return out;
}

}  // namespace

std::string roff_text(const std::string& text) {
  std::string out = !text.empty() && (text[0] == '.' || text[0] == '\'') ? "\\&" : "";
  for (size_t at = 0; at < text.size();) {
    const char32_t c = next_code_point(text, at);
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (c == '\'')
      out += "\\(aq";
    else if (c == '`')
      out += "\\(ga";
    else if (c == '^')
      out += "\\(ha";
    else if (c == '~')
      out += "\\(ti";
    else if (c == '\n')
      out += "\n.br\n";
    else if (c < 0x80)
      out += static_cast<char>(c);
    else
      out += fmt::format("\\[u{:04X}]", static_cast<uint32_t>(c));
  }
  return out;
}

std::string program_manual(const CommandPage& program, const ManFacts& facts) {
  std::string out = man_heading(program.name, facts);
  out += fmt::format(".SH NAME\n{} \\- {}\n", program.name, roff_text(program.summary));
  out += ".SH SYNOPSIS\n.B " + program.name + "\n\\fISUBCOMMAND\\fR\n[\\fIOPTIONS\\fR]\n";
  out += ".SH OPTIONS\n" + option_list(program.options, false);
  out += ".SH COMMANDS\nEach has a page of its own,\n.BR clusterbench\\-\\fISUBCOMMAND\\fR (1).\n";
  out += commands_by_group(program, ".SS", ".B {}");
  out += notes_and_examples(program, ".SH") + man_exit_codes();
  return out;
}

std::string command_manual(const CommandPage& program, const CommandPage& command,
                           const ManFacts& facts) {
  const std::string called = program.name + " " + command.name;
  const std::string name = program.name + "-" + command.name;
  std::string out = man_heading(name, facts);
  out += fmt::format(".SH NAME\n{} \\- {}\n", roff_text(name), roff_text(command.summary));
  out += ".SH SYNOPSIS\n" + man_synopsis(called, command);
  if (!command.positionals.empty())
    out += ".SH ARGUMENTS\n" + option_list(command.positionals, true);
  out += ".SH OPTIONS\n" + option_list(command.options, false);
  if (!command.commands.empty()) out += ".SH COMMANDS\n";
  for (const CommandPage& c : command.commands) out += man_below(c, called);
  out += notes_and_examples(command, ".SH");
  out += fmt::format(".SH SEE ALSO\n.BR {} (1),\nwhich lists the exit codes.\n", program.name);
  return out;
}

}  // namespace cb
