#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cb {

// Ed25519 (RFC 8032) by libcrypto. Keys are PEM files, as `openssl genpkey -algorithm ed25519` and
// `openssl pkey -pubout` write them; keys and signatures in documents are lower-case hex digits.
struct Ed25519Signature {
  std::string public_key;  // 64 digits
  std::string value;       // 128 digits
};

// Throws UsageError if the file is no private Ed25519 key.
Ed25519Signature ed25519_sign(const std::filesystem::path& private_key, std::string_view message);

// Whether the signature is the key's over these bytes; false for anything malformed.
bool ed25519_verify(const Ed25519Signature& signature, std::string_view message);

// The public key of a PEM file that holds it (or the private one). Throws UsageError.
std::string ed25519_public_key(const std::filesystem::path& file);

}  // namespace cb
