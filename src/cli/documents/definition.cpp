#include "cli/documents/definition.h"

#include "cli/offers.h"

namespace cb {
namespace {

// The type's name says what a value is: FILE, DIR|BUNDLE. A TEXT or LIST may be a path.
Offers offers_of_type(const std::string& type) {
  const auto has = [&](const char* word) { return type.find(word) != std::string::npos; };
  if (has("FILE") || has("BUNDLE") || has("TEXT") || has("LIST")) return Offers::files;
  return has("DIR") ? Offers::directories : Offers::nothing;
}

bool takes_value(const CLI::Option& option) { return option.get_expected_max() > 0; }

std::vector<std::string> option_names(const CLI::Option& option) {
  std::vector<std::string> out;
  for (const std::string& name : option.get_snames()) out.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.push_back("--" + name);
  if (out.empty()) out.push_back(option.get_name(true));
  return out;
}

OptionLine option_line(CLI::Option& option) {
  OptionLine line{.names = option_names(option), .help = option.get_description()};
  line.required = option.get_required();
  if (!takes_value(option)) return line;
  // CLI11 appends what its checks say: "N:INT in [1 - 4096]".
  const std::string type = option.get_type_name();
  const size_t mark = type.find(':');
  line.type = type.substr(0, mark);
  line.words = offered(option);
  if (mark != std::string::npos && line.words.empty()) line.limits = type.substr(mark + 1);
  line.offers = offers_of_type(line.type);
  line.list = line.type.find(",…") != std::string::npos;
  line.repeats = option.get_expected_max() > 1;
  return line;
}

}  // namespace

CommandPage page_of(CLI::App& app) {
  CommandPage page{.name = app.get_name(),
                   .group = app.get_group(),
                   .summary = app.get_description(),
                   .footer = app.get_footer()};
  for (CLI::Option* option : app.get_options({})) {
    if (option->get_group().empty()) continue;
    (option->get_positional() ? page.positionals : page.options).push_back(option_line(*option));
  }
  for (CLI::App* sub : app.get_subcommands({})) {
    if (!sub->get_group().empty()) page.commands.push_back(page_of(*sub));
  }
  return page;
}

}  // namespace cb
