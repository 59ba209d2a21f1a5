// `clusterbench expect`: what was delivered against what was ordered, from inventories that were
// taken before. Measures nothing.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>

#include <fmt/format.h>

#include "bench/registry.h"
#include "campaign/load.h"
#include "cli/commands.h"
#include "cli/offers.h"
#include "cli/profile_source.h"
#include "core/delivery_list.h"
#include "core/file.h"
#include "core/text.h"
#include "judge/expect.h"
#include "report/asset_register.h"

namespace cb {
namespace {

struct ExpectOptions {
  std::vector<std::string> inputs;
  std::string profile;
  std::string profile_directory;
  std::string assets;
  std::string registered;
  std::string language = "en";
};

// Adds the inventories of a document or campaign. The last one of a host counts.
void add_inventories(const std::string& input, std::vector<HostInventory>& hosts) {
  std::vector<HostInventory> read = std::filesystem::is_directory(input)
                                        ? load_campaign(input, catalogue()).inventories
                                        : parse_document(read_file(input), input).hosts;
  if (read.empty()) throw UsageError("clusterbench expect", input, said("expect.no_inventory"));
  for (HostInventory& host : read) {
    std::erase_if(hosts, [&](const HostInventory& known) { return known.host == host.host; });
    hosts.push_back(std::move(host));
  }
}

std::vector<ExpectRule> rules_of(const ExpectOptions& options) {
  std::vector<ExpectRule> out;
  if (!options.profile.empty()) {
    const Profile profile =
        load_valid_profile(options.profile, default_places(options.profile_directory));
    for (const Criterion& criterion : profile.criteria) {
      if (const auto* rule = std::get_if<ExpectRule>(&criterion.rule)) out.push_back(*rule);
    }
    if (out.empty())
      throw UsageError("clusterbench expect", "--profile",
                       said("expect.no_criterion", options.profile));
  }
  if (!options.assets.empty())
    out.push_back({{}, read_delivery_list(read_file(options.assets), options.assets)});
  return out;
}

ExitCode say_evidence(const Evidence& evidence, size_t hosts, Lang lang) {
  size_t failing = 0;
  for (const Finding& f : evidence.findings) {
    if (!f.failing) continue;
    ++failing;
    std::cout << "✗ " << terminal_safe(say_all(lang, f.detail)) << '\n';
  }
  for (const Gap& gap : evidence.gaps)
    std::cout << "? " << terminal_safe(say(lang, gap.what)) << '\n';
  const Texts t(lang);
  if (failing > 0) {
    std::cout << t("expect.fails", failing, evidence.gaps.size()) << '\n';
    return ExitCode::not_accepted;
  }
  if (!evidence.gaps.empty()) {
    std::cout << t("expect.incomplete", evidence.gaps.size()) << '\n';
    return ExitCode::incomplete;
  }
  std::cout << t.count("expect.good", hosts) << '\n';
  return ExitCode::ok;
}

ExitCode expect(const ExpectOptions& options) {
  if (options.profile.empty() && options.assets.empty() && options.registered.empty())
    throw UsageError("clusterbench expect", "--profile", said("expect.nothing"));
  const std::vector<ExpectRule> rules = rules_of(options);
  std::vector<HostInventory> hosts;
  for (const std::string& input : options.inputs) add_inventories(input, hosts);
  if (!options.registered.empty())
    write_file_atomically(options.registered, render_asset_register(hosts));
  if (rules.empty()) return ExitCode::ok;
  Evidence evidence;
  for (const ExpectRule& rule : rules) {
    Evidence more = expect_evidence(hosts, rule);
    std::ranges::move(more.findings, std::back_inserter(evidence.findings));
    std::ranges::move(more.gaps, std::back_inserter(evidence.gaps));
  }
  return say_evidence(evidence, hosts.size(), options.language == "zh" ? Lang::zh : Lang::en);
}

}  // namespace

void add_expect_command(CLI::App& app, Action& action) {
  CLI::App* sub =
      app.add_subcommand("expect", "what was delivered against what was ordered, piece by piece");
  const auto options = std::make_shared<ExpectOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Exit code: 0 as ordered, 1 not as ordered, 3 something could not be compared, 2 usage.\n"
      "Example:\n  clusterbench expect info.json --assets delivery.csv --register register.csv");
  sub->add_option("inventories", options->inputs,
                  "documents of info (or of any measurement), or directories of campaigns")
      ->required()
      ->type_name("FILE|DIR…");
  offer(sub->add_option("--profile", options->profile, "its criteria of the kind expect"),
        built_in_profiles())
      ->type_name("NAME|FILE");
  sub->add_option("--profile-dir", options->profile_directory, "look for profiles here first")
      ->type_name("DIR");
  sub->add_option("--assets", options->assets,
                  "delivery list as CSV: host, part, serial and, if known, slot and model")
      ->type_name("FILE");
  sub->add_option("--register", options->registered,
                  "write every piece with its serial number as CSV")
      ->type_name("FILE");
  offer_only(sub->add_option("--lang", options->language, "language: en, zh"), {"en", "zh"})
      ->capture_default_str();
  sub->callback([&action, options] { action = [options] { return expect(*options); }; });
}

}  // namespace cb
