// `clusterbench signoff verify DIR`
#include "cli/signoff_verify_cmd.h"

#include <filesystem>
#include <iostream>

#include <fmt/format.h>

#include "campaign/files.h"
#include "campaign/signoff_verify.h"
#include "campaign/unbundle.h"
#include "cli/key_options.h"
#include "cli/report_page.h"
#include "cli/signoff_lines.h"
#include "core/error.h"
#include "core/text.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

void say(const std::string& line) { std::cout << terminal_safe(line) << '\n'; }

// Nobody signs the page that shows the signatures: it counts if rendering it again gives the same
// bytes.
void check_signed_report(const fs::path& directory, SignoffCheck& found) {
  if (!fs::exists(directory / kSignedReport)) return;
  if (is_our_signed_report(directory, found))
    found.later.push_back(fmt::format("{} is what `clusterbench report` writes", kSignedReport));
  else
    found.unauthenticated.push_back(fmt::format(
        "{} is not what `clusterbench report` writes now: do not read it, make it again",
        kSignedReport));
}

std::string count_text(size_t n, const char* what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::string rejected_text(const std::vector<const Signoff*>& rejected) {
  std::string out;
  for (const Signoff* s : rejected)
    out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", s->name, s->role);
  return out.empty() ? "" : "; REJECTED by " + out;
}

// One line and an exit code that say what the signatures are worth.
std::pair<ExitCode, std::string> judge_signatures(const SignoffCheck& found, bool keys,
                                                  bool allow_rejected) {
  if (!found.problems.empty())
    return {ExitCode::not_accepted,
            "✗ NOT VERIFIED: " + count_text(found.problems.size(), "problem")};
  if (found.signoffs.empty()) return {ExitCode::incomplete, "there is no signature"};
  const auto rejected = rejections(found.signoffs);
  const std::string tail = rejected_text(rejected);
  const bool refused = !rejected.empty() && !allow_rejected;
  const std::string count = count_text(found.signoffs.size(), "signature");
  const ExitCode otherwise = refused ? ExitCode::not_accepted : ExitCode::incomplete;
  if (!keys)
    return {otherwise,
            fmt::format("? NOT AUTHENTICATED: {}, intact by their digests, which anybody "
                        "can compute; name the keys with --public-key{}",
                        count, tail)};
  if (!found.unauthenticated.empty())
    return {otherwise,
            fmt::format("? NOT AUTHENTICATED: {} by listed keys, intact; {} that no listed key "
                        "has signed{}",
                        count, count_text(found.unauthenticated.size(), "later change"), tail)};
  return {refused ? ExitCode::not_accepted : ExitCode::ok,
          fmt::format("{} intact: {} by listed keys{}", refused ? "✗" : "✓", count, tail)};
}

void require_campaign(const fs::path& directory) {
  if (!fs::exists(directory / "campaign.json") && !fs::exists(directory / "signoffs"))
    throw UsageError(directory.string(), "", "is not a campaign directory");
}

ExitCode verify_directory(const fs::path& directory, const VerifyOptions& options) {
  require_campaign(directory);
  const std::vector<TrustedKey> keys = trusted_keys(options.keys);
  SignoffCheck found = verify_campaign(directory, keys);
  if (!found.signoffs.empty()) check_signed_report(directory, found);
  const auto [code, line] = judge_signatures(found, !keys.empty(), options.allow_rejected);
  say(line);
  for (const Signoff& s : found.signoffs) {
    say(signature_line(s));
    for (const OpenItem& item : s.open) say(open_item_line(item));
    if (options.digests) say(fmt::format("  {} {}", s.digest, s.file));
  }
  for (const std::string& problem : found.problems) say("problem: " + problem);
  for (const std::string& text : found.unauthenticated) say("not authenticated: " + text);
  for (const std::string& text : found.later) say("later: " + text);
  std::cout << std::flush;
  return code;
}

}  // namespace

ExitCode verify_signatures(const VerifyOptions& options) {
  if (!fs::is_regular_file(options.directory)) return verify_directory(options.directory, options);
  const UnpackedBundle bundle(options.directory);
  return verify_directory(bundle.campaign(), options);
}

}  // namespace cb
