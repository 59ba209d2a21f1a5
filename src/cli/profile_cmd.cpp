// `clusterbench profile list|show|validate|capture|lock|diff`: profiles that can be run, and their
// criteria.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bench/registry.h"
#include "campaign/again.h"
#include "campaign/load.h"
#include "campaign/signoff.h"
#include "cli/commands.h"
#include "cli/gate_cmd_lines.h"
#include "cli/judging.h"
#include "cli/offers.h"
#include "cli/profile_source.h"
#include "core/file.h"
#include "core/text.h"
#include "judge/capture.h"
#include "judge/lock.h"

namespace cb {
namespace {

struct ProfileOptions {
  std::string name;
  std::string directory;
  std::string other;                   // the second profile of diff
  std::vector<std::string> campaigns;  // the campaigns of capture and lock
  std::string out;
  bool serials = false;  // lock: also the serial numbers
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

// Limits must rest on machines that did what they were asked for: refuses wrong data, lost jobs,
// and files that are not as the run left them. Figures below a limit only give a warning, since
// that limit may be the one to replace.
void require_good(const Campaign& campaign, const std::string& directory) {
  const Judgement judgement = judge_campaign(campaign, campaign.profile, {}, today_utc());
  Problems problems;
  for (const Said& doubt : judgement.doubts) problems.add("evidence", doubt);
  for (const CriterionVerdict& v : judgement.criteria) {
    const bool wrong =
        std::ranges::any_of(v.failing, [](const Finding& f) { return f.wrong_data; });
    const bool figures = std::holds_alternative<MetricRule>(v.criterion->rule) && !wrong &&
                         std::ranges::all_of(v.gaps, is_inconclusive);
    if (v.state != State::incomplete && v.state != State::fail) continue;
    if (!figures)
      problems.add(v.criterion->id, v.reason);
    else
      std::cerr << fmt::format("warning: {} does not meet {}: {}\n", terminal_safe(directory),
                               terminal_safe(v.criterion->id), terminal_safe(v.reason));
  }
  if (!problems.empty())
    throw UsageError(directory + " is no campaign of machines known to be good", problems);
}

// To the file of --out, or to standard output.
ExitCode hand_out(const ProfileOptions& options, const std::string& text) {
  if (options.out.empty()) {
    std::cout << text;
  } else {
    write_file_atomically(options.out, text);
    std::cout << terminal_safe(options.out) << '\n';
  }
  return ExitCode::ok;
}

ExitCode capture(const ProfileOptions& options) {
  std::vector<Campaign> campaigns;
  for (const std::string& directory : options.campaigns) {
    campaigns.push_back(load_campaign(directory, catalogue()));
    refuse_writing_over_evidence(directory, {options.out});
  }
  for (size_t i = 0; i < campaigns.size(); ++i) require_good(campaigns[i], options.campaigns[i]);
  const Catalogue known = catalogue();
  std::vector<KnownGood> good;
  for (const Campaign& c : campaigns) good.push_back({&c, gather_metrics(c, known)});
  std::vector<std::string> thin;
  const std::string text = captured_profile(good, options.name, &thin);
  if (!thin.empty())
    std::cerr << fmt::format(
        "warning: fewer than three figures for {}: their spread is not known, and a healthy "
        "machine "
        "misses such a limit by chance. Capture more hosts or runs.\n",
        terminal_safe(fmt::format("{}", fmt::join(thin, ", "))));
  return hand_out(options, text);
}

// What hosts are counts as what they shall be only if somebody could have signed for them.
void require_accepted(const Campaign& campaign, const std::string& directory) {
  const Judgement judgement = judge_campaign(campaign, campaign.profile, {}, today_utc());
  if (exit_code(judgement) == ExitCode::ok) return;
  throw UsageError("clusterbench profile lock", directory,
                   std::string("is a campaign with the verdict ") + verdict_name(judgement) +
                       ": only accepted hosts are locked; see clusterbench gate");
}

ExitCode lock(const ProfileOptions& options) {
  std::vector<HostInventory> hosts;
  std::string day;
  for (const std::string& directory : options.campaigns) {
    refuse_writing_over_evidence(directory, {options.out});
    Campaign campaign = load_campaign(directory, catalogue());
    require_accepted(campaign, directory);
    day = std::max(day, campaign.ended.substr(0, 10));
    std::ranges::move(campaign.inventories, std::back_inserter(hosts));
  }
  std::vector<std::string> left_out;
  const std::string text = locked_profile(hosts, options.name, options.serials, day, left_out);
  for (const std::string& what : left_out)
    std::cerr << "warning: not locked, because it could not be read: " << terminal_safe(what)
              << '\n';
  return hand_out(options, text);
}

ExitCode diff(const ProfileOptions& options) {
  const ProfilePlaces places = default_places(options.directory);
  const Profile before = load_valid_profile(options.name, places);
  const Profile after = load_valid_profile(options.other, places);
  const auto lines = profile_differences(before.resolved, after.resolved);
  for (const std::string& line : lines) std::cout << terminal_safe(line) << '\n';
  std::cout << fmt::format("{} difference{}\n", lines.size(), lines.size() == 1 ? "" : "s");
  return lines.empty() ? ExitCode::ok : ExitCode::not_accepted;
}

void add_capture(CLI::App& parent, const std::shared_ptr<ProfileOptions>& options, Action& action) {
  CLI::App* sub = parent.add_subcommand("capture", "a profile from machines known to be good");
  sub->add_option("campaigns", options->campaigns, "directories of their campaigns")
      ->required()
      ->type_name("DIR");
  sub->add_option("--name", options->name, "of the new profile")->required()->type_name("NAME");
  sub->add_option("--out", options->out, "write it here, not to the terminal")->type_name("FILE");
  sub->footer(
      "Example:\n  clusterbench profile capture out/good1 out/good2 --name our-nodes --out "
      "our-nodes.json");
  sub->callback([&action, options] { action = [options] { return capture(*options); }; });
}

void add_lock(CLI::App& parent, const std::shared_ptr<ProfileOptions>& options, Action& action) {
  CLI::App* sub = parent.add_subcommand("lock", "a profile of what accepted hosts consist of");
  sub->add_option("campaigns", options->campaigns, "directories of their accepted campaigns")
      ->required()
      ->type_name("DIR");
  sub->add_option("--name", options->name, "of the new profile")->required()->type_name("NAME");
  sub->add_option("--out", options->out, "write it here, not to the terminal")->type_name("FILE");
  sub->add_flag("--serials", options->serials, "also lock every serial number");
  sub->footer(
      "Example:\n  clusterbench profile lock out/acceptance --name as-accepted --serials --out "
      "as-accepted.json");
  sub->callback([&action, options] { action = [options] { return lock(*options); }; });
}

void add_profile(CLI::App& sub, const char* name, std::string& profile, const char* help) {
  offer(sub.add_option(name, profile, help), built_in_profiles())
      ->required()
      ->type_name("NAME|FILE");
}

void add_diff(CLI::App& parent, const std::shared_ptr<ProfileOptions>& options, Action& action) {
  CLI::App* sub = parent.add_subcommand("diff", "what differs between two profiles");
  add_profile(*sub, "before", options->name, "name or file of a profile");
  add_profile(*sub, "after", options->other, "name or file of the other");
  sub->add_option("--profile-dir", options->directory, "look for profiles here first")
      ->type_name("DIR");
  sub->footer("Exit code: 0 none, 1 some.\nExample:\n  clusterbench profile diff host-quick host");
  sub->callback([&action, options] { action = [options] { return diff(*options); }; });
}

using Run = ExitCode (*)(const ProfileOptions&);

void add_verb(CLI::App& parent, const char* name, const char* help, const char* example, Run run,
              bool takes_name, const std::shared_ptr<ProfileOptions>& options, Action& action) {
  CLI::App* sub = parent.add_subcommand(name, help);
  if (takes_name) add_profile(*sub, "profile", options->name, "name or file of a profile");
  sub->add_option("--profile-dir", options->directory, "look for profiles here first")
      ->type_name("DIR");
  sub->footer(std::string("Example:\n  ") + example);
  sub->callback([&action, options, run] { action = [options, run] { return run(*options); }; });
}

}  // namespace

void add_profile_command(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("profile", "list, show, validate, capture, lock and compare profiles");
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
  add_capture(*sub, options, action);
  add_lock(*sub, options, action);
  add_diff(*sub, options, action);
}

}  // namespace cb
