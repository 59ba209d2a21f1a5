// `clusterbench signoff DIR`: a party's signature under a campaign; `signoff verify DIR`.
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "campaign/load.h"
#include "campaign/paperwork.h"
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
  std::vector<std::string> items;
  std::vector<std::string> trusted;
  SignoffRequest request;
};

void print(const std::string& line) { std::cout << terminal_safe(line) << '\n'; }

// "text;YYYY-MM-DD"
std::pair<std::string, std::string> split_item(const std::string& text) {
  const size_t at = text.rfind(';');
  if (at == std::string::npos)
    throw UsageError("clusterbench signoff", "--open-item " + text, "is not TEXT;YYYY-MM-DD");
  return {text.substr(0, at), text.substr(at + 1)};
}

std::string item_line(const OpenItem& item) {
  return fmt::format("  open: {} {}{}{}", item.kind, item.text,
                     item.state.empty() ? "" : ", " + item.state,
                     item.due.empty() ? "" : ", by " + item.due);
}

ExitCode sign(const SignoffOptions& options) {
  SignoffRequest request = options.request;
  request.at = utc_now();
  if (!options.key.empty()) request.key = options.key;
  for (const std::string& item : options.items) request.items.push_back(split_item(item));
  const Campaign campaign = load_campaign(options.directory);
  const std::vector<Waiver> waivers =
      options.waivers.empty() ? std::vector<Waiver>()
                              : parse_waivers(read_file(options.waivers), options.waivers);
  const Judgement judgement = judge(campaign, campaign.profile, waivers, request.at.substr(0, 10));
  const Signoff s = sign_campaign(options.directory, campaign, judgement,
                                  read_paperwork(options.directory), request);
  print(fmt::format("{}: {} by {} ({}), {} files", s.file, s.verdict, s.name, s.role,
                    s.files.size()));
  for (const OpenItem& item : s.open) print(item_line(item));
  print(fmt::format("digest {}: exchange it, so that neither side can replace this signature",
                    s.digest));
  return ExitCode::ok;
}

void print_signoff(const Signoff& s) {
  print(fmt::format("{}: {} by {} ({}), {}, {} files, {}", s.file, s.verdict, s.name, s.role, s.at,
                    s.files.size(), s.public_key ? "key " + *s.public_key : "no key"));
  for (const OpenItem& item : s.open) print(item_line(item));
  print("  digest " + s.digest);
}

ExitCode verify(const SignoffOptions& options) {
  if (!std::filesystem::exists(std::filesystem::path(options.directory) / "campaign.json") &&
      !std::filesystem::exists(std::filesystem::path(options.directory) / "signoffs"))
    throw UsageError(options.directory, "", "is not a campaign directory");
  std::vector<std::string> keys;
  for (const std::string& file : options.trusted) keys.push_back(ed25519_public_key(file));
  const SignoffCheck found = verify_campaign(options.directory, keys);
  for (const Signoff& s : found.signoffs) print_signoff(s);
  for (const std::string& line : found.later) print("later: " + line);
  for (const std::string& problem : found.problems) print("changed: " + problem);
  if (!found.problems.empty()) return ExitCode::not_accepted;
  if (found.signoffs.empty()) {
    print("there is no signature");
    return ExitCode::incomplete;
  }
  print("nothing that was signed has changed");
  return ExitCode::ok;
}

void add_sign_options(CLI::App& sub, SignoffOptions& options) {
  SignoffRequest& r = options.request;
  r.verdict = "accepted";
  sub.add_option("directory", options.directory, "a campaign's directory")->type_name("DIR");
  sub.add_option("--role", r.role, "supplier, customer, witness")->type_name("ROLE");
  sub.add_option("--name", r.name, "who signs")->type_name("NAME");
  sub.add_option("--verdict", r.verdict, "accepted, conditional, rejected")
      ->type_name("WORD")
      ->capture_default_str();
  sub.add_option("--until", r.until, "day by which open items are closed (conditional)")
      ->type_name("YYYY-MM-DD");
  sub.add_option("--open-item", options.items,
                 "a day for one open item by its id, or an item of its own (repeatable)")
      ->type_name("TEXT;YYYY-MM-DD");
  sub.add_option("--remark", r.remark, "a remark that is signed with it")->type_name("TEXT");
  sub.add_option("--key", options.key, "private Ed25519 key")->type_name("FILE.pem");
  sub.add_option("--waivers", options.waivers, "failures that the customer accepts for a while")
      ->type_name("FILE");
}

}  // namespace

void add_signoff_command(CLI::App& app, Action& action) {
  CLI::App* sub = app.add_subcommand("signoff", "sign a campaign, or verify its signatures");
  const auto options = std::make_shared<SignoffOptions>();
  sub->group("Acceptance");
  sub->footer(
      "Exit code: 0 signed, or nothing changed; 1 something signed was changed; 2 usage, or it\n"
      "cannot be signed like this; 3 verify found no signature.\n"
      "Examples:\n"
      "  clusterbench signoff out/acceptance --role supplier --name 'A. Wang' --key wang.pem\n"
      "  clusterbench signoff out/acceptance --role customer --name 'B. Li' \\\n"
      "      --verdict conditional --until 2026-12-31 --open-item 'spare parts;2026-12-01'\n"
      "  clusterbench signoff verify out/acceptance --public-key wang.pub.pem\n");
  add_sign_options(*sub, *options);
  CLI::App* check = sub->add_subcommand("verify", "find every changed byte of what was signed");
  check->add_option("directory", options->directory, "a campaign's directory")
      ->required()
      ->type_name("DIR");
  check
      ->add_option("--public-key", options->trusted,
                   "a key (PEM) that must have signed (repeatable)")
      ->type_name("FILE.pem");
  sub->callback([&action, options, check] {
    const bool verifying = check->parsed();
    if (options->directory.empty())
      throw UsageError("clusterbench signoff", "DIR", "is missing: which campaign?");
    action = [options, verifying] { return verifying ? verify(*options) : sign(*options); };
  });
}

}  // namespace cb
