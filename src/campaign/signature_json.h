#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "core/ed25519.h"

namespace cb {

// {"algorithm": "ed25519", "public_key": …, "value": …}
nlohmann::json signature_json(const Ed25519Signature& signature);

// The signature in an object's member "signature". Nothing if that has any other shape: members
// beside these three are not signed.
std::optional<Ed25519Signature> signature_in(const nlohmann::json& holder);

}  // namespace cb
