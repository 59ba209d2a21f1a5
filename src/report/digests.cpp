#include "report/digests.h"

#include <nlohmann/json.hpp>

#include "core/json/json_text.h"
#include "core/sha256.h"

namespace cb {

using nlohmann::json;

std::string manifest_digest(const Campaign& campaign) {
  if (campaign.manifest.empty()) return "";
  std::string lines;
  for (const auto& [file, digest] : campaign.manifest) lines += digest + "  " + file + "\n";
  return sha256_hex(lines);
}

std::string verdict_digest(const Campaign& campaign, const Judgement& judgement) {
  json out = {{"campaign", campaign.id},
              {"profile", campaign.profile.sha256},
              {"manifest", manifest_digest(campaign)},
              {"verdict", state_name(judgement.overall())},
              {"criteria", json::array()}};
  for (const CriterionVerdict& v : judgement.criteria) {
    json one = {{"id", v.criterion->id}, {"state", state_name(v.state)}};
    if (v.value) one["value"] = *v.value;
    if (v.limit) one["limit"] = *v.limit;
    out["criteria"].push_back(std::move(one));
  }
  return sha256_hex(dump_json(out));
}

}  // namespace cb
