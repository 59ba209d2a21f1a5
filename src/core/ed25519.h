#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct evp_pkey_st;

namespace cb {

// Ed25519 (RFC 8032) by libcrypto. Key files are PEM, as `openssl genpkey -algorithm ed25519` and
// `openssl pkey -pubout` write them, or OpenSSH's. In documents, keys and signatures are lower-case
// hex digits.
struct Ed25519Signature {
  std::string public_key;  // 64 digits
  std::string value;       // 128 digits
};

// Returns the passphrase of a key file; nothing if nobody can be asked.
using AskPassphrase = std::function<std::optional<std::string>(const std::string& file)>;

// A private key, read once and held only in memory, or one that an agent holds.
class Ed25519Key {
 public:
  // Asks for a passphrase only if a PEM file has one. For an OpenSSH public key, the agent of
  // SSH_AUTH_SOCK signs. Throws UsageError if the file is not an Ed25519 key or does not open.
  explicit Ed25519Key(const std::filesystem::path& file, const AskPassphrase& ask = {});

  const std::string& public_key() const { return public_key_; }
  bool held_by_agent() const { return !key_; }
  // Throws UsageError if the agent does not sign.
  Ed25519Signature sign(std::string_view message) const;

 private:
  Ed25519Signature sign_by_agent(std::string_view message) const;

  std::string file_;
  std::shared_ptr<evp_pkey_st> key_;
  std::string public_key_;
};

// Signs with a key file that has no passphrase. Throws UsageError if it cannot.
Ed25519Signature ed25519_sign(const std::filesystem::path& private_key, std::string_view message);

// True if the signature is valid for these bytes; false for anything malformed.
bool ed25519_verify(const Ed25519Signature& signature, std::string_view message);

// Returns the public key of a file with a public key, or with a private one that has no passphrase.
// Throws UsageError if there is none.
std::string ed25519_public_key(const std::filesystem::path& file);

}  // namespace cb
