#include "campaign/signoff_verify.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "campaign/directory.h"
#include "campaign/files.h"
#include "campaign/history.h"
#include "campaign/signoff_file.h"
#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"
#include "core/timestamp.h"

namespace cb {
namespace {

namespace fs = std::filesystem;

// True if a file that may change after a signature is what its history ends with.
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

  void check(Signoff& s, SignoffCheck& out) {
    for (const auto& [file, was] : s.files) {
      const auto problem = compare(file, was);
      if (!problem) continue;
      s.state = SignatureState::invalid;
      if (named_.insert(file).second)
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

// The time stamp beside a signature must cover that signature's file.
void check_stamp(const fs::path& directory, Signoff& s, SignoffCheck& out) {
  const std::string file = stamp_name(s.file);
  std::error_code failed;
  if (!fs::is_regular_file(fs::symlink_status(directory / file, failed))) return;
  try {
    const TimeStamp stamp = read_time_stamp(read_file(directory / file), file);
    if (stamp.sha256 == sha256_hex_of_file(directory / s.file)) {
      s.stamped_at = stamp.at;
      return;
    }
    out.problems.push_back(fmt::format("{} is not a time stamp of {}", file, s.file));
  } catch (const UsageError& e) {
    out.problems.push_back(fmt::format("{} {}", file, e.problems().list.front().what));
  }
}

void check_one(const fs::path& directory, const std::string& file, int expected,
               SignoffCheck& out) {
  const std::string text = read_file(directory / file);
  Signoff signoff = parse_signoff(text, file);
  signoff.state = signoff.public_key ? SignatureState::unknown_key : SignatureState::no_key;
  if (const auto problem = signoff_problem(text, file)) {
    signoff.state = SignatureState::invalid;
    out.problems.push_back(fmt::format("{} {}", file, *problem));
  }
  if (signoff.number != expected)
    out.problems.push_back(
        fmt::format("{} is number {} where {} is expected: a signature is missing or was added",
                    file, signoff.number, expected));
  check_stamp(directory, signoff, out);
  out.signoffs.push_back(std::move(signoff));
}

// Names the signatures' keys from the reader's list. A file that was changed stays invalid, whoever
// signed it.
void check_keys(const std::vector<TrustedKey>& trusted, SignoffCheck& out) {
  std::set<std::string> used;
  for (Signoff& s : out.signoffs) {
    if (name_key(s, trusted)) {
      used.insert(*s.public_key);
    } else if (!trusted.empty() && s.state != SignatureState::invalid) {
      out.problems.push_back(
          fmt::format("{} by {} ({}) {}", s.file, s.name, s.role,
                      s.public_key ? "is signed with a key that is not listed: " + *s.public_key
                                   : "is signed without a key: anybody can have written it"));
    }
  }
  for (const TrustedKey& key : trusted) {
    if (!used.contains(key.public_key))
      out.problems.push_back(
          fmt::format("the key {} has not signed: {}", key.name, key.public_key));
  }
}

// The last signature by a listed key; without one, the last signature.
const Signoff& last_word(const std::vector<Signoff>& signoffs) {
  const auto trusted = std::find_if(signoffs.rbegin(), signoffs.rend(),
                                    [](const Signoff& s) { return !s.key_name.empty(); });
  return trusted == signoffs.rend() ? signoffs.back() : *trusted;
}

std::string line_name(const std::string& file, const HistoryLine& line) {
  return fmt::format("{} line {}", history_of(file), line.number);
}

// Says who wrote the lines of a history after its first `covered` bytes.
void check_later_lines(const fs::path& directory, const std::string& file, uint64_t covered,
                       const Signoff& last, SignoffCheck& out) {
  for (const HistoryLine& line : history_lines(directory, file, last.campaign)) {
    if (line.begin < covered) continue;
    const std::string name = line_name(file, line);
    const auto signer = std::ranges::find_if(out.signoffs, [&](const Signoff& s) {
      return !s.key_name.empty() && s.public_key == line.public_key;
    });
    if (!line.valid)
      out.problems.push_back(name + " does not carry a valid Ed25519 signature");
    else if (signer != out.signoffs.end())
      out.later.push_back(fmt::format("{} is later than {}, by {} (key {})", name, last.file,
                                      signer->name, signer->key_name));
    else
      out.unauthenticated.push_back(
          fmt::format("{} is later than {}, {}", name, last.file,
                      line.public_key ? "by a key that is not listed: " + *line.public_key
                                      : "without a key: anybody can have written it"));
  }
}

void check_papers(const fs::path& directory, const Signoff& last, SignoffCheck& out) {
  for (const char* file : {CampaignPaths::kIssues, CampaignPaths::kChecklist}) {
    if (!follows_its_history(directory, file)) {
      out.problems.push_back(fmt::format("{} is not what {} ends with", file, history_of(file)));
      continue;
    }
    const auto covered = last.files.find(history_of(file));
    check_later_lines(directory, file, covered == last.files.end() ? 0 : covered->second.bytes,
                      last, out);
  }
}

// A stamp has a check of its own, which says whether it belongs there.
bool is_stamp(const std::string& file, const SignoffCheck& out) {
  return std::ranges::any_of(out.signoffs,
                             [&](const Signoff& s) { return file == stamp_name(s.file); });
}

// Finds files that the last signature does not cover.
void check_added(const fs::path& directory, const Signoff& last, SignoffCheck& out) {
  const CampaignFiles files = campaign_files(directory);
  for (const std::string& file : files.other)
    out.problems.push_back(fmt::format("{} was added: it is no regular file", file));
  for (const std::string& folder : files.empty)
    out.problems.push_back(fmt::format("{}/ was added: it is an empty directory", folder));
  for (const std::string& file : files.regular) {
    const bool known = last.files.contains(file) || file == last.file || file == kSignedReport ||
                       is_paper(file) || is_history(file) || is_stamp(file, out);
    if (!known) out.problems.push_back(fmt::format("{} was added after {}", file, last.file));
  }
}

}  // namespace

bool name_key(Signoff& signoff, const std::vector<TrustedKey>& trusted) {
  const auto key = std::ranges::find_if(
      trusted, [&](const TrustedKey& k) { return signoff.public_key == k.public_key; });
  if (key == trusted.end()) return false;
  signoff.key_name = key->name;
  if (signoff.state == SignatureState::unknown_key) signoff.state = SignatureState::valid;
  return true;
}

SignoffCheck verify_campaign(const fs::path& directory, const std::vector<TrustedKey>& trusted) {
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
  check_keys(trusted, out);
  if (out.signoffs.empty()) return out;
  const Signoff& last = last_word(out.signoffs);
  check_papers(directory, last, out);
  check_added(directory, last, out);
  return out;
}

}  // namespace cb
