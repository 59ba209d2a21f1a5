// `clusterbench gate DIR`: judges a campaign, again or by another profile if asked.
#include <algorithm>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "bench/registry.h"
#include "campaign/load.h"
#include "campaign/signoff.h"
#include "cli/commands.h"
#include "cli/documents_on_standard_output.h"
#include "cli/drill/open_changes.h"
#include "cli/gate_cmd_lines.h"
#include "cli/judging.h"
#include "cli/key_options.h"
#include "cli/offers.h"
#include "cli/outputs.h"
#include "cli/profile_source.h"
#include "cli/signoff_lines.h"
#include "core/file.h"
#include "core/text.h"
#include "judge/delivery.h"
#include "judge/steps_fit.h"
#include "report/summary.h"

namespace cb {
namespace {

struct GateOptions {
  std::string directory;
  std::string profile;
  std::string profile_directory;
  std::vector<std::string> public_keys;
  std::string waivers;
  std::string summary;
  std::string language = "en";
  Outputs outputs = {};
  bool no_color = false;
};

// Checks only who signed: the reader has already verified the journal's own signatures.
void require_key(Campaign& campaign, const std::vector<TrustedKey>& keys) {
  // The further keys are of people who have signed. They may be of the other party, who could
  // measure in secret and sign that instead.
  if (keys.empty() || keys.front().public_key == campaign.public_key) return;
  campaign.warnings.push_back(campaign.public_key.empty() ? said("key.none")
                                                          : said("key.other", campaign.public_key));
}

// A signature that does not hold is as bad as a changed record. A key that is not listed is another
// matter: it takes nothing from what was measured.
SignoffCheck check_signatures(Campaign& campaign, const std::string& directory,
                              const std::vector<TrustedKey>& keys) {
  if (!has_signatures(directory)) return {};
  SignoffCheck out = verify_campaign(directory, {});
  for (const std::string& problem : out.problems)
    campaign.warnings.push_back(said("signature.invalid", problem));
  for (Signoff& s : out.signoffs) name_key(s, keys);
  return out;
}

ExitCode gate(const GateOptions& options) {
  const DocumentsOnStandardOutput guard("clusterbench gate",
                                        options.outputs.and_files({options.summary}));
  refuse_writing_over_evidence(options.directory, options.outputs.and_files({options.summary}));
  // Never freed: for a large campaign, freeing it would take a tenth of the time.
  static Campaign& campaign = *new Campaign(load_campaign(options.directory, catalogue()));
  const Profile profile =
      options.profile.empty()
          ? campaign.profile
          : load_valid_profile(options.profile, default_places(options.profile_directory));
  if (profile.sha256 != campaign.profile.sha256) {
    require_same_steps(campaign, profile, catalogue());
    apply_delivery(campaign, profile);
  }
  const std::vector<TrustedKey> keys = trusted_keys(options.public_keys);
  require_key(campaign, keys);
  const SignoffCheck signatures = check_signatures(campaign, options.directory, keys);
  const std::vector<Waiver> waivers =
      options.waivers.empty() ? std::vector<Waiver>()
                              : parse_waivers(read_file(options.waivers), options.waivers);
  const Judgement judgement = judge_campaign(campaign, profile, waivers, today_utc());
  for (const Said& warning : campaign.warnings)
    std::cerr << "clusterbench gate: " << terminal_safe(warning.text()) << '\n';
  for (const Said& note : campaign.notes)
    std::cerr << "clusterbench gate: note: " << terminal_safe(note.text()) << '\n';
  for (const std::string& line : open_drill_changes(options.directory))
    std::cerr << "clusterbench gate: note: " << terminal_safe(line) << '\n';
  for (const Signoff& s : signatures.signoffs)
    std::cerr << "clusterbench gate: signed: " << terminal_safe(signature_line(s)) << '\n';
  const bool color = stdout_color(options.no_color);
  std::cout << gate_lines(judgement, color) << verdict_line(judgement, color) << '\n' << std::flush;
  write_outputs(options.outputs, campaign, judgement, signatures);
  if (!options.summary.empty())
    write_file_atomically(
        options.summary,
        render_summary(campaign, judgement, options.language == "zh" ? Lang::zh : Lang::en));
  const Problems impossible = profile_problems(judgement);
  if (!impossible.empty()) throw UsageError("profile " + profile.name, impossible);
  return exit_code(judgement);
}

}  // namespace

void add_gate_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("gate", "judge a campaign: one line per criterion");
  const auto options = std::make_shared<GateOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Exit code: 0 accepted, 1 not accepted, 3 incomplete, 2 usage, 4 it could not judge or "
      "write.\n"
      "Example:\n  clusterbench gate out/acceptance --waivers waivers.json");
  sub->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  offer(sub->add_option("--profile", options->profile,
                        "judge by this profile, not the campaign's own"),
        built_in_profiles())
      ->type_name("NAME|FILE");
  sub->add_option("--profile-dir", options->profile_directory, "look for profiles here first")
      ->type_name("DIR");
  sub->add_option("--public-key", options->public_keys,
                  "what was measured must be signed by this key (run --key); further ones name "
                  "those who have signed the campaign (repeatable)")
      ->type_name("FILE");
  sub->add_option("--waivers", options->waivers, "failures that the customer accepts for a while")
      ->type_name("FILE");
  sub->add_option("--md", options->summary, "write a summary in Markdown, for a job's page")
      ->type_name("FILE");
  offer_only(sub->add_option("--lang", options->language, "language of the summary: en, zh"),
             {"en", "zh"})
      ->capture_default_str();
  add_output_options(*sub, options->outputs);
  sub->add_flag("--no-color", options->no_color, "no colour, also on a terminal");
  sub->callback([&action, options] { action = [options] { return gate(*options); }; });
}

}  // namespace cb
