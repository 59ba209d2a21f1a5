// Signatures under a campaign: each lists the digest of every file that it saw, so that a changed
// byte is found with sha256 alone; Ed25519 on top says whose list it is.
#include "campaign/signoff.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>

#include "analysis/open_items.h"
#include "analysis/waivers_match.h"
#include "campaign/directory.h"
#include "campaign/files.h"
#include "campaign/history.h"
#include "campaign/signoff_file.h"
#include "core/ed25519.h"
#include "core/file.h"
#include "core/sha256.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 3> kRoles{"supplier", "customer", "witness"};
constexpr std::array<std::string_view, 3> kVerdicts{"accepted", "conditional", "rejected"};

const char* result_name(const Judgement& judgement) {
  switch (judgement.overall()) {
    case State::pass:
      return "accepted";
    case State::fail:
      return "not-accepted";
    default:
      return "incomplete";
  }
}

void check_day(const std::string& option, const std::string& day, const std::string& today,
               Problems& problems) {
  if (!is_date(day))
    problems.add(option, fmt::format("{} is not a day YYYY-MM-DD", day));
  else if (day < today)
    problems.add(option, fmt::format("{} is past", day));
}

void check_words(const SignoffRequest& r, Problems& problems) {
  if (std::ranges::find(kRoles, r.role) == kRoles.end())
    problems.add("--role", "is none of supplier, customer, witness");
  if (r.name.empty()) problems.add("--name", "is missing: who signs?");
  if (std::ranges::find(kVerdicts, r.verdict) == kVerdicts.end())
    problems.add("--verdict", "is none of accepted, conditional, rejected");
  const std::string today = r.at.substr(0, 10);
  if (!r.until.empty()) check_day("--until", r.until, today, problems);
  for (const auto& [text, day] : r.items) {
    if (text.empty()) problems.add("--open-item", "has no text");
    check_day("--open-item " + text, day, today, problems);
  }
}

// What is open, with the days that the request gives.
std::vector<OpenItem> dated_items(std::vector<OpenItem> open, const SignoffRequest& r) {
  for (OpenItem& item : open) item.due = r.verdict == "conditional" ? r.until : "";
  for (const auto& [text, day] : r.items) {
    bool known = false;
    for (OpenItem& item : open) {
      if (item.text != text) continue;
      item.due = day;
      known = true;
    }
    if (!known) open.push_back({"agreed", text, "", day});
  }
  return open;
}

void check_verdict(const SignoffRequest& r, const std::vector<OpenItem>& open, Problems& problems) {
  if (r.verdict == "conditional" && open.empty())
    problems.add("--verdict",
                 "conditional needs an open item: --open-item 'TEXT;YYYY-MM-DD', or accept");
  for (const OpenItem& item : open) {
    const std::string where = fmt::format("{} {}", item.kind, item.text);
    if (r.verdict == "accepted")
      problems.add(where, fmt::format("is {}: sign with --verdict conditional and a day, or reject",
                                      item.state.empty() ? "open" : item.state));
    else if (r.verdict == "conditional" && item.due.empty())
      problems.add(where, fmt::format("has no day by which it is closed: --until YYYY-MM-DD, or "
                                      "--open-item '{};YYYY-MM-DD'",
                                      item.text));
  }
}

void check_campaign(const fs::path& directory, const Campaign& campaign, const CampaignFiles& files,
                    const SignoffRequest& r, Problems& problems) {
  if (campaign.ended.empty() || campaign.manifest.empty())
    problems.add("", "is not finished: complete it with clusterbench run --resume");
  else if (r.at < campaign.ended)
    problems.add("", fmt::format("ended at {}, later than this machine's clock ({}): set the clock",
                                 campaign.ended, r.at));
  for (const std::string& warning : campaign.warnings) problems.add("", warning);
  for (const std::string& file : files.other)
    problems.add(file, "is no regular file: take it out, a link cannot be signed");
  if (!r.key) return;
  const fs::path relative =
      fs::weakly_canonical(*r.key).lexically_relative(fs::canonical(directory));
  if (is_inside(relative.generic_string()))
    problems.add("--key",
                 "lies in the campaign, which is archived: keep the private key elsewhere");
}

std::vector<Waiver> waivers_in_force(const Judgement& judgement) {
  std::vector<Waiver> out;
  for (const CriterionVerdict& v : judgement.criteria) {
    for (const Waiver* waiver : v.waivers) {
      const auto same = [&](const Waiver& w) { return w.id == waiver->id; };
      if (std::ranges::none_of(out, same)) out.push_back(*waiver);
    }
  }
  return out;
}

SignedFile signed_file(const fs::path& path) {
  return {sha256_hex_of_file(path), fs::file_size(path)};
}

// Whether a file that may go on after a signature is what the history beside it ends with.
bool follows_its_history(const fs::path& directory, const std::string& file) {
  try {
    require_history(directory, file);
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

// Compares one signature's files with what is there; each file is read once.
class FileCheck {
 public:
  explicit FileCheck(const fs::path& directory) : directory_(directory) {}

  void check(const Signoff& s, SignoffCheck& out) {
    for (const auto& [file, was] : s.files) {
      const auto problem = compare(file, was);
      if (problem && named_.insert(file).second)
        out.problems.push_back(fmt::format("{} {}; {} covers it", file, *problem, s.file));
    }
  }

 private:
  std::optional<std::string> compare(const std::string& file, const SignedFile& was) {
    std::error_code failed;
    const fs::path path = directory_ / file;
    if (!is_inside(file) || !fs::is_regular_file(fs::symlink_status(path, failed)))
      return "is not there";
    const auto size = fs::file_size(path, failed);
    if (failed) return "cannot be read";
    if (size == was.bytes && digest(file) == was.sha256) return std::nullopt;
    if (is_paper(file) && follows_its_history(directory_, file)) return std::nullopt;
    if (is_history(file) && size > was.bytes && begins_with(path, was)) return std::nullopt;
    return "was changed";
  }

  static bool begins_with(const fs::path& path, const SignedFile& was) {
    return sha256_hex(std::string_view(read_file(path)).substr(0, was.bytes)) == was.sha256;
  }

  const std::string& digest(const std::string& file) {
    const auto [found, is_new] = digests_.try_emplace(file);
    if (is_new) found->second = sha256_hex_of_file(directory_ / file);
    return found->second;
  }

  const fs::path& directory_;
  std::map<std::string, std::string> digests_;
  std::set<std::string> named_;
};

// What the last signature does not cover.
void check_added(const fs::path& directory, const Signoff& last, SignoffCheck& out) {
  const CampaignFiles files = campaign_files(directory);
  for (const std::string& file : files.other)
    out.problems.push_back(fmt::format("{} was added: it is no regular file", file));
  for (const char* file : {CampaignPaths::kIssues, CampaignPaths::kChecklist}) {
    if (!follows_its_history(directory, file))
      out.problems.push_back(fmt::format("{} is not what {} ends with", file, history_of(file)));
  }
  for (const std::string& file : files.regular) {
    const auto covered = last.files.find(file);
    const bool is_new = covered == last.files.end();
    if (is_history(file) && (is_new || fs::file_size(directory / file) > covered->second.bytes))
      out.later.push_back(fmt::format("{} has entries that are later than {}", file, last.file));
    else if (is_new && file == kSignedReport)
      out.later.push_back(
          fmt::format("{} was made after {}: it is signed by nobody", file, last.file));
    else if (is_new && file != last.file && !is_paper(file))
      out.problems.push_back(fmt::format("{} was added after {}", file, last.file));
  }
}

void check_one(const fs::path& directory, const std::string& file, int expected,
               SignoffCheck& out) {
  const std::string text = read_file(directory / file);
  Signoff signoff = parse_signoff(text, file);
  if (const auto problem = signoff_problem(text, file))
    out.problems.push_back(fmt::format("{} {}", file, *problem));
  if (signoff.number != expected)
    out.problems.push_back(
        fmt::format("{} is number {} where {} is expected: a signature is missing or was added",
                    file, signoff.number, expected));
  out.signoffs.push_back(std::move(signoff));
}

}  // namespace

Signoff sign_campaign(const fs::path& directory, const Campaign& campaign,
                      const Judgement& judgement, const Paperwork& papers,
                      const SignoffRequest& request) {
  const CampaignPaths paths{directory};
  const CampaignLock lock(paths);  // no run, and no second signer
  const CampaignFiles files = campaign_files(directory);
  Problems problems;
  check_campaign(directory, campaign, files, request, problems);
  check_words(request, problems);
  const std::vector<OpenItem> open = dated_items(open_items(campaign, judgement, papers), request);
  check_verdict(request, open, problems);
  if (!papers.signoffs.empty()) {
    for (const std::string& problem : verify_campaign(directory, {}).problems)
      problems.add("", problem);
  }
  if (!problems.empty()) throw UsageError(directory.string(), problems);

  Signoff s;
  s.number = static_cast<int>(papers.signoffs.size()) + 1;
  s.role = request.role;
  s.name = request.name;
  s.verdict = request.verdict;
  s.remark = request.remark;
  s.at = request.at;
  s.campaign = campaign.id;
  s.profile_sha256 = campaign.profile.sha256;
  s.manifest_sha256 = sha256_hex_of_file(paths.manifest());
  s.result = result_name(judgement);
  s.open = open;
  s.waivers = waivers_in_force(judgement);
  for (const std::string& file : files.regular) s.files[file] = signed_file(directory / file);
  s.file = signoff_name(s.number, s.role);
  const std::string text = signoff_text(s, request.key);
  std::error_code failed;
  fs::create_directories(paths.signoffs(), failed);
  if (failed)
    throw Error(fmt::format("cannot create {}: {}", paths.signoffs().string(), failed.message()));
  write_file_atomically(directory / s.file, text);
  return parse_signoff(text, s.file);
}

SignoffCheck verify_campaign(const fs::path& directory, const std::vector<std::string>& trusted) {
  SignoffCheck out;
  int expected = 0;
  for (const std::string& file : signoff_files({directory})) {
    try {
      check_one(directory, file, ++expected, out);
    } catch (const UsageError& e) {
      out.problems.push_back(
          fmt::format("{} cannot be read: {}", file, e.problems().list.front().what));
    }
  }
  FileCheck files(directory);
  for (auto s = out.signoffs.rbegin(); s != out.signoffs.rend(); ++s) files.check(*s, out);
  if (!out.signoffs.empty()) check_added(directory, out.signoffs.back(), out);
  for (const std::string& key : trusted) {
    const auto by_it = [&](const Signoff& s) { return s.public_key == key; };
    if (std::ranges::none_of(out.signoffs, by_it))
      out.problems.push_back(fmt::format("the key {} has not signed", key));
  }
  return out;
}

void refuse_signed(const fs::path& directory, const std::string& what) {
  const auto files = signoff_files({directory});
  if (!files.empty())
    throw UsageError(directory.string(), what,
                     fmt::format("is signed ({}): begin a new campaign, which can be named as the "
                                 "re-test of an issue",
                                 files.back()));
}

void refuse_writing_into_signed(const fs::path& directory, const std::vector<std::string>& files) {
  if (signoff_files({directory}).empty()) return;
  Problems problems;
  for (const std::string& file : files) {
    const fs::path relative =
        fs::weakly_canonical(file).lexically_relative(fs::weakly_canonical(directory));
    if (!file.empty() && is_inside(relative.generic_string()) && relative != kSignedReport)
      problems.add(file,
                   "lies in a signed campaign and would break its signatures: name a file outside "
                   "of it");
  }
  if (!problems.empty()) throw UsageError(directory.string(), problems);
}

}  // namespace cb
