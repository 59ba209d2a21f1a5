#include "core/openssh_key.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include <openssl/evp.h>

#include "core/error.h"

namespace cb {
namespace {

using Bytes = std::vector<unsigned char>;

constexpr std::string_view kBegin = "-----BEGIN OPENSSH PRIVATE KEY-----";
constexpr std::string_view kEnd = "-----END OPENSSH PRIVATE KEY-----";
constexpr std::string_view kMagic{"openssh-key-v1\0", 15};
constexpr std::string_view kKind = "ssh-ed25519";
constexpr size_t kHalf = 32;  // the seed; the public key follows it

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

// Reads the strings and numbers of which both formats are built; nothing beyond the end.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  std::optional<uint32_t> number() {
    if (rest_.size() < 4) return std::nullopt;
    uint32_t out = 0;
    for (size_t i = 0; i < 4; ++i) out = out << 8 | static_cast<unsigned char>(rest_[i]);
    rest_.remove_prefix(4);
    return out;
  }
  std::optional<std::string_view> text() {
    const auto size = number();
    if (!size || rest_.size() < *size) return std::nullopt;
    const std::string_view out = rest_.substr(0, *size);
    rest_.remove_prefix(*size);
    return out;
  }

 private:
  std::string_view rest_;
};

Bytes bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

// The private half of a key that has no passphrase; nothing for what is damaged.
std::optional<Bytes> seed_of(std::string_view secret) {
  WireReader in(secret);
  const auto first = in.number();
  const auto second = in.number();
  const auto kind = in.text();
  const auto open = in.text();
  const auto pair = in.text();
  if (!first || first != second || kind != kKind || !open || open->size() != kHalf || !pair ||
      pair->size() != 2 * kHalf || pair->substr(kHalf) != *open)
    return std::nullopt;
  return bytes_of(pair->substr(0, kHalf));
}

}  // namespace

std::optional<Bytes> openssh_public_key(std::string_view text) {
  if (!text.starts_with(std::string(kKind) + " ")) return std::nullopt;
  text.remove_prefix(kKind.size() + 1);
  const auto raw = base64_bytes(text.substr(0, text.find_first_of(" \r\n")));
  if (!raw) return std::nullopt;
  WireReader in(*raw);
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
  WireReader in(std::string_view(*raw).substr(kMagic.size()));
  const auto cipher = in.text();
  in.text();  // how the passphrase becomes a key
  in.text();  // and with which salt
  if (cipher && *cipher != "none")
    throw UsageError(file, "",
                     "is an OpenSSH key with a passphrase: take it off a copy (ssh-keygen -p -N '' "
                     "-f COPY), or sign with a PEM key, whose passphrase is asked for");
  const auto count = in.number();
  const auto shown = in.text();
  WireReader kind(shown.value_or(""));
  if (count != 1U || kind.text() != kKind)
    throw UsageError(file, "",
                     "is no Ed25519 key: make one with ssh-keygen -t ed25519 -N '' -f FILE");
  const auto seed = seed_of(in.text().value_or(""));
  if (!seed) throw UsageError(file, "", "is a damaged OpenSSH key");
  return *seed;
}

}  // namespace cb
