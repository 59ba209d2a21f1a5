#include "core/ed25519.h"

#include <algorithm>
#include <exception>
#include <vector>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "core/error.h"
#include "core/file.h"
#include "core/openssh_key.h"
#include "core/ssh_agent.h"

namespace cb {
namespace {

constexpr size_t kKeyBytes = 32;
constexpr size_t kSignatureBytes = 64;
constexpr size_t kMaxPem = size_t{1} << 16;

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

// The argument of libcrypto's callback. No exception may pass through libcrypto.
struct Asking {
  const AskPassphrase* ask;
  const std::string& file;
  bool encrypted = false;
  bool answered = false;
  std::exception_ptr failed = nullptr;
};

int give_passphrase(char* buffer, int size, int, void* data) {
  auto& asking = *static_cast<Asking*>(data);
  asking.encrypted = true;
  try {
    const auto word = asking.ask && *asking.ask ? (*asking.ask)(asking.file) : std::nullopt;
    asking.answered = word.has_value();
    if (!word || word->size() > static_cast<size_t>(size)) return -1;
    std::copy(word->begin(), word->end(), buffer);
    return static_cast<int>(word->size());
  } catch (...) {
    asking.failed = std::current_exception();
    return -1;
  }
}

Bio memory(std::string_view text) {
  return Bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Key raw_private(const std::vector<unsigned char>& seed) {
  return Key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, seed.data(), seed.size()));
}

Key raw_public(const std::vector<unsigned char>& key) {
  return Key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
}

bool is_ed25519(const Key& key) { return key && EVP_PKEY_id(key.get()) == EVP_PKEY_ED25519; }

// Returns null if the text is not a private key at all.
Key private_key(std::string_view text, const std::string& file, const AskPassphrase& ask) {
  if (is_openssh_private_key(text)) return raw_private(openssh_private_key(text, file));
  Asking asking{&ask, file};
  Key key(PEM_read_bio_PrivateKey(memory(text).get(), nullptr, give_passphrase, &asking));
  ERR_clear_error();
  if (asking.failed) std::rethrow_exception(asking.failed);
  if (asking.encrypted && !asking.answered)
    throw UsageError(file, "",
                     "has a passphrase: name a file that holds it with --passphrase-file, or sign "
                     "at a terminal");
  if (asking.encrypted && !key) throw UsageError(file, "", "does not open with this passphrase");
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

Ed25519Key::Ed25519Key(const std::filesystem::path& file, const AskPassphrase& ask)
    : file_(file.string()) {
  const std::string text = read_file(file, kMaxPem);
  if (const auto open = openssh_public_key(text)) {
    public_key_ = hex(*open);
    return;
  }
  Key key = private_key(text, file_, ask);
  if (!is_ed25519(key))
    throw UsageError(file_, "",
                     "is no private Ed25519 key: make one with openssl genpkey -algorithm ed25519 "
                     "-out FILE, or ssh-keygen -t ed25519 -f FILE");
  public_key_ = public_part(key);
  key_ = std::move(key);
}

// Verifies at once: otherwise only the reader would notice that the agent took another key.
Ed25519Signature Ed25519Key::sign_by_agent(std::string_view message) const {
  const std::string raw = ssh_agent_sign(*unhex(public_key_, kKeyBytes), message, file_);
  const Ed25519Signature out{public_key_, hex({raw.begin(), raw.end()})};
  if (!ed25519_verify(out, message))
    throw UsageError(file_, "", "does not verify what the agent (SSH_AUTH_SOCK) signed with it");
  return out;
}

Ed25519Signature Ed25519Key::sign(std::string_view message) const {
  if (held_by_agent()) return sign_by_agent(message);
  const Context context(EVP_MD_CTX_new());
  std::vector<unsigned char> signature(kSignatureBytes);
  size_t size = signature.size();
  if (!context || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key_.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, bytes(message), message.size()) != 1)
    throw Error("libcrypto could not sign");
  return {public_key_, hex(signature)};
}

Ed25519Signature ed25519_sign(const std::filesystem::path& private_key, std::string_view message) {
  return Ed25519Key(private_key).sign(message);
}

bool ed25519_verify(const Ed25519Signature& signature, std::string_view message) {
  const auto raw_key = unhex(signature.public_key, kKeyBytes);
  const auto raw = unhex(signature.value, kSignatureBytes);
  if (!raw_key || !raw) return false;
  const Key key = raw_public(*raw_key);
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
  const std::string text = read_file(file, kMaxPem);
  if (const auto raw = openssh_public_key(text)) return public_part(raw_public(*raw));
  Key key(PEM_read_bio_PUBKEY(memory(text).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (!key && text.find("PRIVATE KEY") != std::string::npos)
    key = private_key(text, file.string(), {});
  if (!is_ed25519(key)) throw UsageError(file.string(), "", "is no Ed25519 key");
  return public_part(key);
}

}  // namespace cb
