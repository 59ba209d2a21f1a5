// Signatures under a campaign. Each lists the digest of every file that it saw, so that sha256
// alone finds a changed byte. Ed25519 on top says whose list it is.
#include "campaign/signoff.h"

#include <algorithm>

#include <fmt/format.h>

#include "campaign/files.h"
#include "campaign/signoff_file.h"
#include "campaign/signoff_request.h"
#include "core/file.h"
#include "core/output_files.h"
#include "core/sha256.h"
#include "core/timestamp.h"
#include "judge/open_items.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// True for what `run` wrote, and what people have written down since.
bool is_evidence(const fs::path& relative) {
  const std::string name = relative.generic_string();
  const std::string first = relative.begin()->string();
  return first == "records" || first == "proofs" || first == "logs" ||
         first == CampaignPaths::kSignoffs || name == "campaign.json" || name == "journal.jsonl" ||
         name == "MANIFEST.sha256" || name == "site.json" || is_paper(name) || is_history(name);
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

Signoff words_of(const SignoffRequest& request) {
  Signoff s;
  s.role = request.role;
  s.name = request.name;
  s.title = request.title;
  s.company = request.company;
  s.verdict = request.verdict;
  s.remark = request.remark;
  s.at = request.at;
  return s;
}

// The files as they will be once the reports are written. The page that `report` writes beside
// signatures may be written again, so it is not signed.
std::map<std::string, SignedFile> files_to_sign(
    const fs::path& directory, const CampaignFiles& files,
    const std::vector<std::pair<std::string, std::string>>& reports) {
  std::map<std::string, SignedFile> out;
  for (const std::string& file : files.regular) {
    if (file == kSignedReport) continue;
    out[file] = {sha256_hex_of_file(directory / file), fs::file_size(directory / file)};
  }
  for (const auto& [name, text] : reports) out[name] = {sha256_hex(text), text.size()};
  return out;
}

void make_directory(const fs::path& directory) {
  std::error_code failed;
  fs::create_directories(directory, failed);
  if (failed)
    throw Error(fmt::format("cannot create {}: {}", directory.string(), failed.message()));
}

// Why no output may be written there; nothing if it may.
std::optional<std::string> why_no_output(const fs::path& file, const fs::path& directory) {
  const fs::path relative = file.lexically_relative(fs::weakly_canonical(directory));
  if (!is_inside(relative.generic_string())) return std::nullopt;
  if (has_signatures(directory) && relative != kSignedReport)
    return "lies in a signed campaign and would break its signatures: name a file outside of it";
  if (is_evidence(relative))
    return "is evidence of the campaign, or lies among it: name another file";
  return std::nullopt;
}

}  // namespace

Signing::Signing(const fs::path& directory, const Campaign& campaign, const Judgement& judgement,
                 const Paperwork& papers, const SignoffRequest& request)
    : paths_{directory}, lock_(paths_) {
  const CampaignFiles files = campaign_files(directory);
  const SignoffCheck before = verify_campaign(directory, {});
  Problems problems;
  check_campaign(campaign, files, request, problems);
  check_words(request, problems);
  const std::vector<OpenItem> open = dated_items(open_items(campaign, judgement, papers), request);
  check_verdict(request, open, problems);
  check_person(request, before.signoffs, problems);
  for (const std::string& problem : before.problems) problems.add("", problem);
  if (!problems.empty()) throw UsageError(directory.string(), problems);
  if (request.key_file) refuse_key_inside(directory, *request.key_file);

  // A report that somebody has signed is not written again.
  if (before.signoffs.empty()) reports_ = request.reports;
  earlier_ = before.signoffs;
  Signoff s = words_of(request);
  s.number = static_cast<int>(earlier_.size()) + 1;
  s.campaign = campaign.id;
  s.profile_sha256 = campaign.profile.sha256;
  s.manifest_sha256 = sha256_hex_of_file(paths_.manifest());
  s.result = verdict_name(judgement);
  s.open = open;
  s.waivers = waivers_in_force(judgement);
  s.files = files_to_sign(directory, files, reports_);
  s.file = signoff_name(s.number, s.role);
  text_ = signoff_text(s, request.key ? &*request.key : nullptr);
  // Does not write a signature that could not be verified afterwards.
  if (const auto problem = signoff_problem(text_, s.file))
    throw Error(fmt::format("the signature would not verify: it {}", *problem));
  signoff_ = parse_signoff(text_, s.file);
}

void Signing::write() const {
  make_directory(paths_.signoffs());
  for (const auto& [name, text] : reports_) write_file_atomically(paths_.root / name, text);
  write_file_atomically(paths_.root / signoff_.file, text_);
}

Signoff add_time_stamp(const fs::path& directory, const fs::path& response) {
  const CampaignPaths paths{directory};
  const CampaignLock lock(paths);
  const std::string content = read_file(response, size_t{1} << 20);
  const TimeStamp stamp = read_time_stamp(content, response.string());
  for (const std::string& file : signoff_files(paths)) {
    if (sha256_hex_of_file(directory / file) != stamp.sha256) continue;
    const std::string name = stamp_name(file);
    if (fs::exists(directory / name))
      throw UsageError(response.string(), "",
                       fmt::format("{} is there already: a signature has one time stamp", name));
    Signoff signoff = parse_signoff(read_file(directory / file), file);
    signoff.stamped_at = stamp.at;
    write_file_atomically(directory / name, content);
    return signoff;
  }
  throw UsageError(response.string(), "",
                   fmt::format("is over {}, which is no signature of {}: openssl ts -query -data "
                               "DIR/signoffs/NNN-ROLE.json -sha256 -cert",
                               stamp.sha256, directory.string()));
}

void refuse_signed(const fs::path& directory, const std::string& what) {
  const auto files = signoff_files({directory});
  if (!files.empty())
    throw UsageError(directory.string(), what,
                     fmt::format("is signed ({}): begin a new campaign, which can be named as the "
                                 "re-test of an issue",
                                 files.back()));
}

bool has_signatures(const fs::path& directory) { return !signoff_files({directory}).empty(); }

void refuse_writing_over_evidence(const fs::path& directory,
                                  const std::vector<std::string>& files) {
  Problems problems;
  for (const std::string& name : files) {
    if (name.empty() || name == kStandardOutput) continue;
    std::error_code failed;
    const fs::path file = fs::weakly_canonical(name, failed);
    if (failed) continue;  // a pipe of this process, for example
    auto why = why_no_output(file, directory);
    if (const auto other = campaign_around(file); !why && other) why = why_no_output(file, *other);
    if (why) problems.add(name, *why);
  }
  if (!problems.empty()) throw UsageError(directory.string(), problems);
}

void refuse_key_inside(const fs::path& directory, const fs::path& key) {
  const fs::path relative = fs::weakly_canonical(key).lexically_relative(fs::canonical(directory));
  if (is_inside(relative.generic_string()))
    throw UsageError(key.string(), "--key",
                     "lies in the campaign, which is archived: keep the private key elsewhere");
}

}  // namespace cb
