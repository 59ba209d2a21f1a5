#pragma once

#include <optional>

#include <nlohmann/json_fwd.hpp>

#include "core/ed25519.h"

namespace cb {

// {"algorithm": "ed25519", "public_key": …, "value": …}
nlohmann::json signature_json(const Ed25519Signature& signature);

// The signature of an object that holds one at "signature"; nothing for any other shape: what
// stands beside these three names nobody has signed.
std::optional<Ed25519Signature> signature_in(const nlohmann::json& holder);

}  // namespace cb
