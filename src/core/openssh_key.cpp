#include "core/openssh_key.h"

#include <algorithm>
#include <iterator>
#include <memory>

#include <openssl/evp.h>

#include "core/error.h"
#include "core/ssh_wire.h"

namespace cb {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kMagic{"openssh-key-v1\0", 15};
constexpr std::string_view kKind = "ssh-ed25519";
constexpr size_t kHalf = 32;  // size of the seed; the public key of the same size follows it

std::optional<std::string> base64_bytes(std::string_view text) {
  std::string packed;
  std::copy_if(text.begin(), text.end(), std::back_inserter(packed),
               [](char c) { return c != '\n' && c != '\r'; });
  if (packed.empty() || packed.size() % 4 != 0) return std::nullopt;
  std::string out(packed.size() / 4 * 3, '\0');
  const int size = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                                   reinterpret_cast<const unsigned char*>(packed.data()),
                                   static_cast<int>(packed.size()));
  if (size == -1) return std::nullopt;
  const auto padding = static_cast<size_t>(std::count(packed.end() - 2, packed.end(), '='));
  out.resize(static_cast<size_t>(size) - padding);
  return out;
}

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// True if signatures with this seed verify with this public key.
bool belong_together(std::string_view seed, std::string_view open) {
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr,
                                   reinterpret_cast<const unsigned char*>(seed.data()),
                                   seed.size()),
      EVP_PKEY_free);
  std::string derived(kHalf, '\0');
  size_t size = derived.size();
  return key &&
         EVP_PKEY_get_raw_public_key(key.get(), reinterpret_cast<unsigned char*>(derived.data()),
                                     &size) == 1 &&
         derived == open;
}

// Returns the private half of a key without a passphrase; nothing if it is damaged.
std::optional<Bytes> seed_of(std::string_view secret) {
  SshReader in(secret);
  const auto first = in.number();
  const auto second = in.number();
  const auto kind = in.text();
  const auto open = in.text();
  const auto pair = in.text();
  if (!first || first != second || kind != kKind || !open || open->size() != kHalf || !pair ||
      pair->size() != 2 * kHalf || pair->substr(kHalf) != *open ||
      !belong_together(pair->substr(0, kHalf), *open))
    return std::nullopt;
  return bytes_of(pair->substr(0, kHalf));
}

}  // namespace

std::optional<Bytes> openssh_public_key(std::string_view text) {
  if (!text.starts_with(std::string(kKind) + " ")) return std::nullopt;
  text.remove_prefix(kKind.size() + 1);
  const auto raw = base64_bytes(text.substr(0, text.find_first_of(" \r\n")));
  if (!raw) return std::nullopt;
  SshReader in(*raw);
  const auto kind = in.text();
  const auto key = in.text();
  if (kind != kKind || !key || key->size() != kHalf) return std::nullopt;
  return bytes_of(*key);
}

bool is_openssh_private_key(std::string_view text) { return text.starts_with(kBegin); }

Bytes openssh_private_key(std::string_view text, const std::string& file) {
  const size_t end = text.find(kEnd);
  const auto raw = end == std::string_view::npos
                       ? std::nullopt
                       : base64_bytes(text.substr(kBegin.size(), end - kBegin.size()));
  if (!raw || !raw->starts_with(kMagic)) throw UsageError(file, "", "is a damaged OpenSSH key");
  SshReader in(std::string_view(*raw).substr(kMagic.size()));
  const auto cipher = in.text();
  in.text();  // skips how the passphrase becomes a key
  in.text();  // skips the salt
  if (cipher && *cipher != "none")
    throw UsageError(file, "",
                     "is an OpenSSH key with a passphrase: give it to the agent (ssh-add FILE) and "
                     "name its public half with --key FILE.pub, or sign with a PEM key, whose "
                     "passphrase is asked for");
  const auto count = in.number();
  const auto shown = in.text();
  SshReader kind(shown.value_or(""));
  if (count != 1U || kind.text() != kKind)
    throw UsageError(file, "",
                     "is no Ed25519 key: make one with ssh-keygen -t ed25519 -N '' -f FILE");
  const auto seed = seed_of(in.text().value_or(""));
  if (!seed) throw UsageError(file, "", "is a damaged OpenSSH key");
  return *seed;
}

}  // namespace cb
