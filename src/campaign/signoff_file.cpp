#include "campaign/signoff_file.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "campaign/signature_json.h"
#include "core/error.h"
#include "core/json/json_read.h"
#include "core/json/json_text.h"
#include "core/sha256.h"

namespace cb {
namespace {

using nlohmann::json;

constexpr const char* kSchemaName = "clusterbench.signoff";
constexpr int kNewest = 2;

json to_json(const Waiver& w) {
  return {{"id", w.id},         {"criterion", w.criterion}, {"scope", w.scope},
          {"reason", w.reason}, {"approver", w.approver},   {"ticket", w.ticket},
          {"limit", w.limit},   {"expires", w.expires}};
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

OpenItem open_item_of(const json& j) {
  return {text_at(j, "kind"), text_at(j, "text"), text_at(j, "state"), text_at(j, "due")};
}

json body_of(const Signoff& s) {
  json out = {{"schema", fmt::format("{}/{}", kSchemaName, kNewest)},
              {"number", s.number},
              {"role", s.role},
              {"name", s.name},
              {"title", s.title},
              {"company", s.company},
              {"verdict", s.verdict},
              {"remark", s.remark},
              {"at", s.at},
              {"campaign", s.campaign},
              {"profile_sha256", s.profile_sha256},
              {"manifest_sha256", s.manifest_sha256},
              {"result", s.result},
              {"open", json::array()},
              {"waivers", json::array()},
              {"files", json::object()}};
  // The key is signed too, so that removing the signature does not make an unsigned file.
  if (s.public_key) out["public_key"] = *s.public_key;
  for (const OpenItem& i : s.open)
    out["open"].push_back({{"kind", i.kind}, {"text", i.text}, {"state", i.state}, {"due", i.due}});
  for (const Waiver& w : s.waivers) out["waivers"].push_back(to_json(w));
  for (const auto& [name, file] : s.files)
    out["files"][name] = {{"sha256", file.sha256}, {"bytes", file.bytes}};
  return out;
}

std::string signed_bytes(json document) {
  document.erase("signature");
  document.erase("digest");
  return dump_json(document);
}

std::string one_of(std::span<const std::string_view> known, const json& j, const char* key) {
  const std::string word = text_at(j, key);
  if (std::find(known.begin(), known.end(), word) == known.end())
    throw Error(fmt::format("{} {} is not known", key, word));
  return word;
}

Signoff signoff_from_json(const json& j, const std::string& file) {
  Signoff s;
  s.file = file;
  s.schema = j.at("schema") == std::string(kSchemaName) + "/1" ? 1 : kNewest;
  s.number = static_cast<int>(whole_count(j.at("number"), "number"));
  s.role = one_of(kSignoffRoles, j, "role");
  s.name = text_at(j, "name");
  if (s.schema > 1) s.title = text_at(j, "title"), s.company = text_at(j, "company");
  s.verdict = one_of(kSignoffVerdicts, j, "verdict");
  s.remark = text_at(j, "remark");
  s.at = text_at(j, "at");
  s.campaign = text_at(j, "campaign");
  s.profile_sha256 = text_at(j, "profile_sha256");
  s.manifest_sha256 = text_at(j, "manifest_sha256");
  s.result = text_at(j, "result");
  s.open = read_each<OpenItem>(j, "open", open_item_of);
  s.waivers = read_each<Waiver>(j, "waivers", waiver_of);
  for (const auto& [name, f] : object_at(j, "files").items())
    s.files[name] = {text_at(f, "sha256"), whole_count(f.at("bytes"), "bytes")};
  s.digest = text_at(j, "digest");
  if (s.schema > 1 && j.contains("public_key")) s.public_key = text_at(j, "public_key");
  if (s.schema == 1 && j.contains("signature")) {
    const auto signature = signature_in(j);
    s.public_key = signature ? signature->public_key : "";
  }
  return s;
}

bool signature_holds(const json& j, const Signoff& s, const std::string& body) {
  if (!s.public_key) return !j.contains("signature");
  if (!j.contains("signature")) return false;
  const auto signature = signature_in(j);
  return signature && signature->public_key == *s.public_key && ed25519_verify(*signature, body);
}

}  // namespace

std::string signoff_text(Signoff signoff, const Ed25519Key* key) {
  if (key != nullptr) signoff.public_key = key->public_key();
  json out = body_of(signoff);
  const std::string body = dump_json(out);
  out["digest"] = sha256_hex(body);
  if (key != nullptr) out["signature"] = signature_json(key->sign(body));
  return dump_json(out);
}

Signoff parse_signoff(std::string_view text, const std::string& file) {
  const json j = parse_json(text, file);
  require_schema(j, kSchemaName, kNewest, file);
  try {
    return signoff_from_json(j, file);
  } catch (const UsageError&) {
    throw;
  } catch (const std::exception& e) {
    throw UsageError(file, "", fmt::format("is not a usable signature: {}", reading_problem(e)));
  }
}

std::optional<std::string> signoff_problem(std::string_view text, const std::string& file) {
  const json j = parse_json(text, file);
  if (dump_json(j) != text) return "is not as it was written";
  const Signoff s = parse_signoff(text, file);
  if (file != signoff_name(s.number, s.role)) return "has another name than it was written under";
  const std::string body = signed_bytes(j);
  if (s.digest != sha256_hex(body)) return "was changed: its digest differs";
  if (!signature_holds(j, s, body)) return "does not carry a valid Ed25519 signature";
  return std::nullopt;
}

std::string signoff_name(int number, const std::string& role) {
  return fmt::format("{}/{:03}-{}.json", CampaignPaths::kSignoffs, number, role);
}

std::string stamp_name(const std::string& signoff_file) {
  return std::filesystem::path(signoff_file).replace_extension(".tsr").generic_string();
}

std::vector<std::string> signoff_files(const CampaignPaths& paths) {
  std::vector<std::string> out;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(paths.signoffs(), ignored)) {
    if (entry.path().extension() == ".json")
      out.push_back(std::string(CampaignPaths::kSignoffs) + "/" + entry.path().filename().string());
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace cb
