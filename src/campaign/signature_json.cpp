#include "campaign/signature_json.h"

#include <nlohmann/json.hpp>

namespace cb {

using nlohmann::json;

json signature_json(const Ed25519Signature& s) {
  return {{"algorithm", "ed25519"}, {"public_key", s.public_key}, {"value", s.value}};
}

std::optional<Ed25519Signature> signature_in(const json& holder) {
  const json s = holder.value("signature", json());
  const bool whole = s.is_object() && s.size() == 3 && s.value("algorithm", json()) == "ed25519" &&
                     s.value("public_key", json()).is_string() &&
                     s.value("value", json()).is_string();
  if (!whole) return std::nullopt;
  return Ed25519Signature{s["public_key"].get<std::string>(), s["value"].get<std::string>()};
}

}  // namespace cb
