// `clusterbench signoff DIR`: a party's signature under a campaign; `signoff verify DIR`;
// `clusterbench bundle DIR`.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "campaign/load.h"
#include "campaign/signoff.h"
#include "cli/commands.h"
#include "core/clock.h"
#include "core/ed25519.h"
#include "core/file.h"
#include "core/text.h"

namespace cb {
namespace {

struct SignoffOptions {
  std::string directory;
  std::string waivers;
  std::string key;
  std::vector<std::string> due;
  std::vector<std::string> trusted;
  SignoffRequest request;
};

void split_due(const SignoffOptions& options, SignoffRequest& request) {
  for (const std::string& text : options.due) {
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0)
      throw UsageError("signoff", "--due " + text, "is not ITEM=YYYY-MM-DD");
    request.due[text.substr(0, equals)] = text.substr(equals + 1);
  }
}

ExitCode sign(const SignoffOptions& options) {
  SignoffRequest request = options.request;
  request.at = utc_now();
  if (!options.key.empty()) request.key = options.key;
  split_due(options, request);
  const Campaign campaign = load_campaign(options.directory);
  const std::vector<Waiver> waivers =
      options.waivers.empty() ? std::vector<Waiver>()
                              : parse_waivers(read_file(options.waivers), options.waivers);
  const Judgement judgement =
      judge(campaign, campaign.profile, waivers, request.at.substr(0, 10));
  const auto file = sign_campaign(options.directory, campaign, judgement, request);
  std::cout << fmt::format("signed: {}, {} as {}, {}\n", request.verdict,
                           terminal_safe(request.name), request.role, file.string());
  std::cout << fmt::format("next: clusterbench signoff verify {}\n",
                           terminal_safe(options.directory));
  return ExitCode::ok;
}

ExitCode verify(const SignoffOptions& options) {
  if (!std::filesystem::exists(std::filesystem::path(options.directory) / "campaign.json"))
    throw UsageError(options.directory, "", "is not a campaign directory: it has no campaign.json");
  std::vector<std::string> keys;
  for (const std::string& file : options.trusted) keys.push_back(ed25519_public_key(file));
  const SignoffCheck found = verify_campaign(options.directory, keys);
  for (const Signoff& s : found.signoffs)
    std::cout << terminal_safe(fmt::format("{}: {} by {} ({}), {}, {} files, {}", s.file, s.verdict,
                                           s.name, s.role, s.at, s.files.size(),
                                           s.public_key ? "key " + *s.public_key : "no key"))
              << '\n';
  for (const std::string& file : found.unsigned_files)
    std::cout << "not signed: " << terminal_safe(file) << '\n';
  for (const std::string& problem : found.problems)
    std::cout << "changed: " << terminal_safe(problem) << '\n';
  if (!found.problems.empty()) return ExitCode::not_accepted;
  if (found.signoffs.empty()) {
    std::cout << "there is no signature\n";
    return ExitCode::incomplete;
  }
  std::cout << "nothing that was signed has changed\n";
  return ExitCode::ok;
}

}  // namespace

void add_signoff_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("signoff", "sign a campaign, or verify its signatures");
  const auto options = std::make_shared<SignoffOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Exit code: 0 signed or unchanged, 1 something signed was changed, 2 usage, 3 no signature.\n"
      "Examples:\n"
      "  clusterbench signoff out/acceptance --role customer --name 'B. Li' --verdict accepted "
      "--key li.pem\n"
      "  clusterbench signoff out/acceptance --role customer --name 'B. Li' --verdict conditional "
      "--until 2026-12-31\n"
      "  clusterbench signoff verify out/acceptance --public-key li.pub.pem\n");
  SignoffRequest& r = options->request;
  sub->add_option("directory", options->directory, "a campaign's directory")->type_name("DIR");
  sub->add_option("--role", r.role, "supplier, customer, witness")->type_name("ROLE");
  sub->add_option("--name", r.name, "who signs")->type_name("NAME");
  sub->add_option("--verdict", r.verdict, "accepted, conditional, rejected")->type_name("WORD");
  sub->add_option("--until", r.until, "day by which open items are closed (conditional)")
      ->type_name("YYYY-MM-DD");
  sub->add_option("--due", options->due, "a day of its own for one open item")
      ->type_name("ITEM=YYYY-MM-DD");
  sub->add_option("--remark", r.remark, "a remark that is signed with it")->type_name("TEXT");
  sub->add_option("--key", options->key, "private Ed25519 key")->type_name("FILE.pem");
  sub->add_option("--waivers", options->waivers, "failures that the customer accepts for a while")
      ->type_name("FILE");
  CLI::App* check = sub->add_subcommand("verify", "find every changed byte of what was signed");
  check->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  check->add_option("--public-key", options->trusted, "a key that must have signed (repeatable)")
      ->type_name("FILE.pem");
  sub->callback([&action, options, check] {
    const bool verifying = check->parsed();
    if (options->directory.empty())
      throw UsageError("clusterbench signoff", "DIR", "is missing: which campaign?");
    action = [options, verifying] { return verifying ? verify(*options) : sign(*options); };
  });
}

void add_bundle_command(CLI::App& app, Action& action) {
  struct BundleOptions {
    std::string directory, out;
  };
  CLI::App* sub = app.add_subcommand("bundle", "pack a campaign for archiving, reproducibly");
  const auto options = std::make_shared<BundleOptions>();
  sub->group("Acceptance");
  sub->footer("Example:\n  clusterbench bundle out/acceptance --out acceptance.tar");
  sub->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  sub->add_option("--out", options->out, "the archive; default DIR.tar")->type_name("FILE");
  sub->callback([&action, options] {
    action = [options] {
      std::filesystem::path directory = options->directory;
      if (!directory.has_filename()) directory = directory.parent_path();
      const std::string out = options->out.empty() ? directory.string() + ".tar" : options->out;
      bundle_campaign(directory, out);
      std::cout << terminal_safe(out) << '\n';
      return ExitCode::ok;
    };
  });
}

}  // namespace cb
