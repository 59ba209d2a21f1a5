// Signatures under a campaign: each lists the digest of every file that it saw, so that a changed
// byte is found with sha256 alone; Ed25519 on top says whose list it is.
#include "campaign/signoff.h"

#include <algorithm>
#include <array>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "analysis/waivers_match.h"
#include "campaign/directory.h"
#include "campaign/files.h"
#include "core/ed25519.h"
#include "core/file.h"
#include "core/json_read.h"
#include "core/json_text.h"
#include "core/sha256.h"

namespace cb {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kFolder = "signoffs";
constexpr std::array kRoles{"supplier", "customer", "witness"};
constexpr std::array kVerdicts{"accepted", "conditional", "rejected"};

template <size_t N>
bool is_one_of(const std::string& word, const std::array<const char*, N>& words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

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

// The criteria that stand in the way of a plain acceptance.
std::vector<std::string> open_items(const Judgement& judgement) {
  std::vector<std::string> out;
  for (const CriterionVerdict& v : judgement.criteria) {
    if (v.state == State::fail || v.state == State::incomplete) out.push_back(v.criterion->id);
  }
  return out;
}

void check_request(const SignoffRequest& request, const std::vector<std::string>& open,
                   Problems& problems) {
  if (!is_one_of(request.role, kRoles)) problems.add("--role", "is none of supplier, customer, witness");
  if (request.name.empty()) problems.add("--name", "is empty: who signs?");
  if (!is_one_of(request.verdict, kVerdicts))
    problems.add("--verdict", "is none of accepted, conditional, rejected");
  const std::string today = request.at.substr(0, 10);
  const auto check_day = [&](const std::string& option, const std::string& day) {
    if (!is_date(day))
      problems.add(option, fmt::format("{} is not a day YYYY-MM-DD", day));
    else if (day < today)
      problems.add(option, fmt::format("{} is past", day));
  };
  if (!request.until.empty()) check_day("--until", request.until);
  for (const auto& [item, day] : request.due) {
    check_day("--due " + item, day);
    if (std::find(open.begin(), open.end(), item) == open.end())
      problems.add("--due " + item, "is not an open item of this campaign");
  }
  for (const std::string& item : open) {
    if (request.verdict == "accepted")
      problems.add(item, "fails or was not measured: sign with --verdict conditional and a day, or reject");
    else if (request.verdict == "conditional" && request.until.empty() && !request.due.contains(item))
      problems.add(item, "has no day by which it is closed: --until or --due ITEM=DAY");
  }
}

json waiver_json(const Waiver& w) {
  return {{"id", w.id},         {"criterion", w.criterion}, {"scope", w.scope},
          {"reason", w.reason}, {"approver", w.approver},   {"ticket", w.ticket},
          {"limit", w.limit},   {"expires", w.expires}};
}

json waivers_json(const Judgement& judgement) {
  json out = json::array();
  std::set<std::string> seen;
  for (const CriterionVerdict& v : judgement.criteria) {
    for (const Waiver* w : v.waivers) {
      if (seen.insert(w->id).second) out.push_back(waiver_json(*w));
    }
  }
  return out;
}

Waiver waiver_of(const json& j) {
  return {.id = text_at(j, "id"),
          .criterion = text_at(j, "criterion"),
          .scope = text_at(j, "scope"),
          .reason = text_at(j, "reason"),
          .approver = text_at(j, "approver"),
          .ticket = text_at(j, "ticket"),
          .limit = finite_number(j.at("limit"), "limit"),
          .expires = text_at(j, "expires")};
}

// What is signed: the document without signature and digest.
std::string signed_bytes(json document) {
  document.erase("signature");
  document.erase("digest");
  return dump_json(document);
}

std::vector<std::string> signoff_files(const fs::path& directory) {
  std::vector<std::string> out;
  for (const std::string& file : campaign_files(directory)) {
    if (file.starts_with(std::string(kFolder) + "/") && file.ends_with(".json"))
      out.push_back(file);
  }
  return out;
}

Signoff parse_signoff(const std::string& text, const std::string& file) {
  const json j = parse_json(text, file);
  require_schema(j, "clusterbench.signoff", 1, file);
  try {
    Signoff out{.file = file,
                .role = text_at(j, "role"),
                .name = text_at(j, "name"),
                .verdict = text_at(j, "verdict"),
                .remark = text_at(j, "remark"),
                .at = text_at(j, "at"),
                .campaign = text_at(j, "campaign"),
                .profile_sha256 = text_at(j, "profile_sha256"),
                .manifest_sha256 = text_at(j, "manifest_sha256"),
                .result = text_at(j, "result"),
                .open = texts_at(j, "open"),
                .waivers = read_each<Waiver>(j, "waivers", waiver_of),
                .files = {},
                .public_key = {}};
    for (const auto& [name, digest] : texts_at(j, "files")) out.files.emplace_back(name, digest);
    if (j.contains("signature")) out.public_key = text_at(object_at(j, "signature"), "public_key");
    return out;
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& e) {
    throw UsageError(file, "", fmt::format("is not a usable signature: {}", reading_problem(e)));
  }
}

// What is wrong with a signature's own file; it is written in one way only, so that even a changed
// blank is seen.
std::optional<std::string> own_problem(const std::string& text, const std::string& file) {
  const json j = parse_json(text, file);
  if (dump_json(j) != text) return "is not as it was written";
  const std::string body = signed_bytes(j);
  if (!j.contains("digest") || j["digest"] != sha256_hex(body)) return "was changed: its digest differs";
  if (!j.contains("signature")) return std::nullopt;
  const json& s = object_at(j, "signature");
  if (text_at(s, "algorithm") != "ed25519" ||
      !ed25519_verify({text_at(s, "public_key"), text_at(s, "value")}, body))
    return "does not carry a valid Ed25519 signature";
  return std::nullopt;
}

// Compares the files of one signature with what is there.
void check_files(const fs::path& directory, const Signoff& signoff,
                 std::map<std::string, std::string>& digests, std::set<std::string>& problems) {
  for (const auto& [file, digest] : signoff.files) {
    const auto [found, is_new] = digests.try_emplace(file);
    std::error_code ignored;
    if (is_new && is_inside(file) && fs::is_regular_file(directory / file, ignored))
      found->second = sha256_hex_of_file(directory / file);
    if (found->second.empty())
      problems.insert(fmt::format("{} is not there; {} covers it", file, signoff.file));
    else if (found->second != digest)
      problems.insert(fmt::format("{} was changed after {} of {}", file, signoff.file, signoff.at));
  }
}

fs::path next_file(const fs::path& directory, const std::string& role) {
  size_t number = signoff_files(directory).size() + 1;
  return fs::path(kFolder) / fmt::format("{:03}-{}.json", number, role);
}

}  // namespace

fs::path sign_campaign(const fs::path& directory, const Campaign& campaign,
                       const Judgement& judgement, const SignoffRequest& request) {
  const CampaignPaths paths{directory};
  Problems problems;
  if (campaign.ended.empty() || !fs::exists(paths.manifest()))
    problems.add("", "is not finished: complete it with clusterbench run --resume");
  for (const std::string& warning : campaign.warnings) problems.add("", warning);
  const std::vector<std::string> open = open_items(judgement);
  check_request(request, open, problems);
  for (const std::string& problem : verify_campaign(directory, {}).problems)
    problems.add("", problem);
  if (!problems.empty()) throw UsageError(directory.string(), problems);

  json out = {{"schema", "clusterbench.signoff/1"},
              {"role", request.role},
              {"name", request.name},
              {"verdict", request.verdict},
              {"remark", request.remark},
              {"at", request.at},
              {"campaign", campaign.id},
              {"profile_sha256", campaign.profile.sha256},
              {"manifest_sha256", sha256_hex_of_file(paths.manifest())},
              {"result", result_name(judgement)},
              {"open", json::object()},
              {"waivers", waivers_json(judgement)},
              {"files", json::object()}};
  for (const std::string& item : open) {
    const auto own = request.due.find(item);
    out["open"][item] = own != request.due.end() ? own->second : request.until;
  }
  for (const std::string& file : campaign_files(directory))
    out["files"][file] = sha256_hex_of_file(directory / file);
  const std::string body = signed_bytes(out);
  out["digest"] = sha256_hex(body);
  if (request.key) {
    const Ed25519Signature s = ed25519_sign(*request.key, body);
    out["signature"] = {{"algorithm", "ed25519"}, {"public_key", s.public_key}, {"value", s.value}};
  }
  const fs::path file = next_file(directory, request.role);
  std::error_code failed;
  fs::create_directories(directory / kFolder, failed);
  if (failed) throw Error(fmt::format("cannot create {}: {}", (directory / kFolder).string(), failed.message()));
  write_file_atomically(directory / file, dump_json(out));
  return file;
}

std::vector<Signoff> read_signoffs(const fs::path& directory) {
  std::vector<Signoff> out;
  for (const std::string& file : signoff_files(directory))
    out.push_back(parse_signoff(read_file(directory / file), file));
  return out;
}

SignoffCheck verify_campaign(const fs::path& directory, const std::vector<std::string>& trusted) {
  SignoffCheck out;
  std::set<std::string> problems;
  std::map<std::string, std::string> digests;
  std::set<std::string> keys;
  for (const std::string& file : signoff_files(directory)) {
    try {
      const std::string text = read_file(directory / file);
      out.signoffs.push_back(parse_signoff(text, file));
      const auto problem = own_problem(text, file);
      if (problem) problems.insert(fmt::format("{} {}", file, *problem));
      if (!problem && out.signoffs.back().public_key) keys.insert(*out.signoffs.back().public_key);
      check_files(directory, out.signoffs.back(), digests, problems);
    } catch (const std::exception& e) {
      problems.insert(fmt::format("{} cannot be read: {}", file, e.what()));
    }
  }
  for (const std::string& key : trusted) {
    if (!keys.contains(key)) problems.insert(fmt::format("the key {} has not signed", key));
  }
  for (const std::string& file : campaign_files(directory)) {
    if (!digests.contains(file) && !file.starts_with(std::string(kFolder) + "/"))
      out.unsigned_files.push_back(file);
  }
  out.problems.assign(problems.begin(), problems.end());
  return out;
}

}  // namespace cb
