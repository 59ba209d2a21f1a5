// `clusterbench signoff DIR`: puts a person's signature under a campaign. Also `signoff verify` and
// `signoff stamp`.
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "bench/registry.h"
#include "campaign/load.h"
#include "campaign/paperwork.h"
#include "campaign/signoff.h"
#include "cli/commands.h"
#include "cli/judging.h"
#include "cli/key_options.h"
#include "cli/offers.h"
#include "cli/report_page.h"
#include "cli/signoff_lines.h"
#include "cli/signoff_verify_cmd.h"
#include "core/clock.h"
#include "core/file.h"
#include "core/text.h"

namespace cb {
namespace {

struct SignoffOptions {
  std::string directory;
  std::string waivers;
  std::vector<std::string> items;
  KeyOptions key;
  bool yes = false;
  SignoffRequest request;
  VerifyOptions verify;
  std::string response;  // file with a time-stamp authority's answer
};

void print(const std::string& line) { std::cout << terminal_safe(line) << '\n'; }

// Splits "text;YYYY-MM-DD".
std::pair<std::string, std::string> split_item(const std::string& text) {
  const size_t at = text.rfind(';');
  if (at == std::string::npos)
    throw UsageError("clusterbench signoff", "--open-item " + text, "is not TEXT;YYYY-MM-DD");
  return {text.substr(0, at), text.substr(at + 1)};
}

// A signature cannot be taken back, so this asks first. Without a terminal, --yes is needed.
bool is_meant(const SignoffOptions& options) {
  if (options.yes) return true;
  std::cout << std::flush;
  if (::isatty(STDIN_FILENO) == 0)
    throw UsageError("clusterbench signoff", "--yes",
                     "is missing, and nobody can be asked here: read above what is signed, and "
                     "repeat with --yes");
  std::cerr << "This cannot be taken back. Sign? Type yes: " << std::flush;
  std::string answer;
  std::getline(std::cin, answer);
  return answer == "yes";
}

SignoffRequest request_of(const SignoffOptions& options) {
  SignoffRequest request = options.request;
  request.at = utc_now();
  if (!options.key.key.empty()) request.key_file = options.key.key;
  request.key = read_key(options.key);
  for (const std::string& item : options.items) request.items.push_back(split_item(item));
  return request;
}

ExitCode sign(const SignoffOptions& options) {
  SignoffRequest request = request_of(options);
  const Campaign campaign = load_campaign(options.directory, catalogue());
  const std::vector<Waiver> waivers =
      options.waivers.empty() ? std::vector<Waiver>()
                              : parse_waivers(read_file(options.waivers), options.waivers);
  const Judgement judgement =
      judge_campaign(campaign, campaign.profile, waivers, request.at.substr(0, 10));
  const Paperwork papers = read_paperwork(options.directory);
  // Nobody signs JSON: the signature covers pages that a person can read.
  request.reports = {{"report.en.html", report_page(campaign, judgement, papers, Lang::en)},
                     {"report.zh.html", report_page(campaign, judgement, papers, Lang::zh)}};
  const Signing signing(options.directory, campaign, judgement, papers, request);
  const Signoff& s = signing.shown();
  for (const std::string& line : signing_lines(campaign, judgement, s, signing.earlier()))
    print(line);
  if (!is_meant(options)) {
    print("nothing was signed");
    return ExitCode::usage;
  }
  signing.write();
  print(fmt::format("signed: {}", s.file));
  print("exchange the digest, so that neither side can replace this signature");
  return ExitCode::ok;
}

ExitCode stamp(const SignoffOptions& options) {
  const Signoff s = add_time_stamp(options.directory, options.response);
  print(fmt::format("{}: time stamp of {}", s.file, s.stamped_at));
  print(
      "who made it: openssl ts -verify -in RESPONSE -data DIR/signoffs/NNN-ROLE.json -CAfile "
      "CA.pem");
  return ExitCode::ok;
}

void add_sign_options(CLI::App& sub, SignoffOptions& options) {
  SignoffRequest& r = options.request;
  sub.add_option("directory", options.directory, "a campaign's directory")->type_name("DIR");
  offer(sub.add_option("--role", r.role, "supplier, customer, supervisor, witness"),
        {kSignoffRoles.begin(), kSignoffRoles.end()})
      ->type_name("ROLE");
  sub.add_option("--name", r.name, "who signs")->type_name("NAME");
  sub.add_option("--title", r.title, "as what this person signs")->type_name("TEXT");
  sub.add_option("--company", r.company, "for whom this person signs")->type_name("TEXT");
  offer(sub.add_option("--verdict", r.verdict, "accepted, conditional, rejected"),
        {kSignoffVerdicts.begin(), kSignoffVerdicts.end()})
      ->type_name("WORD");
  sub.add_option("--until", r.until, "day by which open items are closed (conditional)")
      ->type_name("YYYY-MM-DD");
  sub.add_option("--open-item", options.items,
                 "a day for one open item by its id, or an item of its own (repeatable)")
      ->type_name("TEXT;YYYY-MM-DD");
  sub.add_option("--remark", r.remark, "a remark that is signed with it")->type_name("TEXT");
  add_key_options(
      sub, options.key,
      "private Ed25519 key, PEM or OpenSSH; an OpenSSH public key where an agent signs");
  sub.add_option("--waivers", options.waivers, "failures that the customer accepts for a while")
      ->type_name("FILE");
  sub.add_flag("--yes", options.yes, "sign what is shown without being asked");
}

CLI::App* add_verify(CLI::App& sub, VerifyOptions& options) {
  CLI::App* check = sub.add_subcommand("verify", "whose signatures, and what was changed since");
  check->add_option("directory", options.directory, "a campaign's directory, or a bundle of it")
      ->required()
      ->type_name("DIR|BUNDLE");
  check
      ->add_option("--public-key", options.keys,
                   "a key that has signed, PEM or OpenSSH (repeatable): every signature must be "
                   "by one of them")
      ->type_name("FILE");
  check->add_flag("--allow-rejected", options.allow_rejected, "exit 0 although somebody rejected");
  check->add_flag("--digests", options.digests, "print each signature's digest");
  return check;
}

CLI::App* add_stamp(CLI::App& sub, SignoffOptions& options) {
  CLI::App* one = sub.add_subcommand("stamp", "keep a time stamp (RFC 3161) with a signature");
  one->add_option("directory", options.directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  one->add_option("--timestamp", options.response, "the authority's response")
      ->required()
      ->type_name("FILE.tsr");
  return one;
}

}  // namespace

void add_signoff_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("signoff", "sign a campaign, or verify its signatures");
  const auto options = std::make_shared<SignoffOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Exit code: 0 signed, or intact and every signature by a listed key; 1 changed, signed by\n"
      "another key, or rejected; 2 usage, or it cannot be signed like this; 3 verify found no\n"
      "signature, or cannot say whose: no key was listed.\n"
      "Examples:\n"
      "  clusterbench signoff out/acceptance --role supplier --name 'A. Wang' --key wang.pem \\\n"
      "      --verdict accepted\n"
      "  clusterbench signoff out/acceptance --role customer --name 'B. Li' --key li.pem --yes \\\n"
      "      --verdict conditional --until 2026-12-31 --open-item 'spare parts;2026-12-01'\n"
      "  clusterbench signoff stamp out/acceptance --timestamp li.tsr\n"
      "  clusterbench signoff verify out/acceptance --public-key wang.pub.pem --public-key "
      "li.pub.pem\n");
  add_sign_options(*sub, *options);
  CLI::App* check = add_verify(*sub, options->verify);
  CLI::App* stamped = add_stamp(*sub, *options);
  sub->callback([&action, options, check, stamped] {
    if (check->parsed()) {
      action = [options] { return verify_signatures(options->verify); };
      return;
    }
    if (options->directory.empty())
      throw UsageError("clusterbench signoff", "DIR", "is missing: which campaign?");
    const bool stamping = stamped->parsed();
    action = [options, stamping] { return stamping ? stamp(*options) : sign(*options); };
  });
}

}  // namespace cb
