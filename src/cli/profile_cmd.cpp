// `clusterbench profile list|show|validate`: what can be run and required, before anything is run.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/profile_source.h"
#include "core/text.h"

namespace cb {
namespace {

struct ProfileOptions {
  std::string name;
  std::string directory;
};

ExitCode list(const ProfileOptions& options) {
  const ProfilePlaces places = default_places(options.directory);
  std::vector<std::vector<std::string>> rows{{"profile", "steps", "criteria", "from", "for"}};
  for (const ProfileEntry& entry : list_profiles(places)) {
    try {
      const Profile p = load_valid_profile(entry.name, places);
      rows.push_back({terminal_safe(entry.name), std::to_string(p.steps.size()),
                      std::to_string(p.criteria.size()), terminal_safe(entry.where),
                      terminal_safe(p.title.en)});
    } catch (const UsageError& e) {
      rows.push_back({terminal_safe(entry.name), "–", "–", terminal_safe(entry.where),
                      fmt::format("unusable, {} problems: clusterbench profile validate {}",
                                  e.problems().list.size(), terminal_safe(entry.name))});
    }
  }
  std::cout << text_table(rows, {false, true, true, false, false});
  return ExitCode::ok;
}

ExitCode show(const ProfileOptions& options) {
  std::cout << load_valid_profile(options.name, default_places(options.directory)).resolved;
  return ExitCode::ok;
}

ExitCode validate(const ProfileOptions& options) {
  const Profile p = load_valid_profile(options.name, default_places(options.directory));
  std::cout << fmt::format("✓ {}: {} steps, {} criteria, {} checklist items, sha256 {}\n",
                           terminal_safe(p.name), p.steps.size(), p.criteria.size(),
                           p.checklist.size(), p.sha256);
  return ExitCode::ok;
}

using Run = ExitCode (*)(const ProfileOptions&);

void add_verb(CLI::App& parent, const char* name, const char* help, const char* example, Run run,
              bool takes_name, const std::shared_ptr<ProfileOptions>& options, Action& action) {
  CLI::App* sub = parent.add_subcommand(name, help);
  if (takes_name)
    sub->add_option("profile", options->name, "name or file of a profile")->required();
  sub->add_option("--profile-dir", options->directory, "look for profiles here first")
      ->type_name("DIR");
  sub->footer(std::string("Example:\n  ") + example);
  sub->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
}

}  // namespace

void add_profile_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("profile", "list, show and validate profiles");
  sub->group("Acceptance");
  sub->require_subcommand(1);
  sub->footer("Example:\n  clusterbench profile validate host-quick");
  const auto options = std::make_shared<ProfileOptions>();
  add_verb(*sub, "list", "every profile that can be had by name", "clusterbench profile list", list,
           false, options, action);
  add_verb(*sub, "show", "print a profile with its bases merged in",
           "clusterbench profile show host-quick", show, true, options, action);
  add_verb(*sub, "validate", "check a profile and name every problem",
           "clusterbench profile validate ./my-cluster.json", validate, true, options, action);
}

}  // namespace cb
