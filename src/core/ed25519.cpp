#include "core/ed25519.h"

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "core/error.h"
#include "core/file.h"

namespace cb {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr size_t kSignatureBytes = 64;
constexpr size_t kLargestPem = size_t{1} << 16;

struct Deleter {
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(EVP_MD_CTX* p) const { EVP_MD_CTX_free(p); }
  void operator()(BIO* p) const { BIO_free(p); }
};
using Key = std::unique_ptr<EVP_PKEY, Deleter>;
using Context = std::unique_ptr<EVP_MD_CTX, Deleter>;
using Bio = std::unique_ptr<BIO, Deleter>;

const unsigned char* bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

std::string hex(const std::vector<unsigned char>& data) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : data) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::optional<std::vector<unsigned char>> unhex(std::string_view text, size_t size) {
  constexpr std::string_view digits = "0123456789abcdef";
  if (text.size() != 2 * size) return std::nullopt;
  std::vector<unsigned char> out;
  for (size_t i = 0; i < text.size(); i += 2) {
    const size_t high = digits.find(text[i]);
    const size_t low = digits.find(text[i + 1]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    out.push_back(static_cast<unsigned char>(high << 4 | low));
  }
  return out;
}

// No passphrase is asked for: nothing is ever read from the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

Key read_key(const std::filesystem::path& file, bool private_only) {
  const std::string pem = read_file(file, kLargestPem);
  const auto open = [&] { return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()))); };
  Key key(PEM_read_bio_PrivateKey(open().get(), nullptr, no_passphrase, nullptr));
  if (!key && !private_only)
    key.reset(PEM_read_bio_PUBKEY(open().get(), nullptr, no_passphrase, nullptr));
  ERR_clear_error();
  if (!key || EVP_PKEY_id(key.get()) != EVP_PKEY_ED25519)
    throw UsageError(file.string(), "",
                     private_only ? "is no private Ed25519 key without a passphrase: make one with "
                                    "openssl genpkey -algorithm ed25519"
                                  : "is no Ed25519 key");
  return key;
}

std::string public_part(const Key& key) {
  std::vector<unsigned char> raw(kKeyBytes);
  size_t size = raw.size();
  if (EVP_PKEY_get_raw_public_key(key.get(), raw.data(), &size) != 1 || size != kKeyBytes)
    throw Error("the public part of the Ed25519 key cannot be had");
  return hex(raw);
}

}  // namespace

Ed25519Signature ed25519_sign(const std::filesystem::path& private_key, std::string_view message) {
  const Key key = read_key(private_key, true);
  const Context context(EVP_MD_CTX_new());
  std::vector<unsigned char> signature(kSignatureBytes);
  size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, bytes(message), message.size()) != 1)
    throw Error("libcrypto could not sign");
  return {public_part(key), hex(signature)};
}

bool ed25519_verify(const Ed25519Signature& signature, std::string_view message) {
  const auto raw_key = unhex(signature.public_key, kKeyBytes);
  const auto raw = unhex(signature.value, kSignatureBytes);
  if (!raw_key || !raw) return false;
  const Key key(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, raw_key->data(), raw_key->size()));
  const Context context(EVP_MD_CTX_new());
  const bool valid =
      key && context &&
      EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
      EVP_DigestVerify(context.get(), raw->data(), raw->size(), bytes(message), message.size()) ==
          1;
  ERR_clear_error();
  return valid;
}

std::string ed25519_public_key(const std::filesystem::path& file) {
  return public_part(read_key(file, false));
}

}  // namespace cb
