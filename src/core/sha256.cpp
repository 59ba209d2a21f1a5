#include "core/sha256.h"

#include <array>
#include <fstream>

#include <openssl/evp.h>

#include "core/error.h"

namespace cb {
namespace {

// Fetched once: OpenSSL looks an implementation up for every EVP_sha256().
const EVP_MD* algorithm() {
  static const EVP_MD* const out = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  return out;
}

}  // namespace

void Sha256::Free::operator()(evp_md_ctx_st* context) const { EVP_MD_CTX_free(context); }

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  if (!context_ || EVP_DigestInit_ex(context_.get(), algorithm(), nullptr) != 1)
    throw Error("sha256 is not available");
}

void Sha256::update(std::string_view bytes) {
  if (EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) != 1)
    throw Error("sha256 failed");
}

std::string Sha256::hex() {
  std::array<unsigned char, 32> digest{};
  if (EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr) != 1) throw Error("sha256 failed");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const unsigned char byte : digest) {
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

std::string sha256_hex(std::string_view bytes) {
  Sha256 hash;
  hash.update(bytes);
  return hash.hex();
}

std::string sha256_hex_of_file(const std::filesystem::path& path) {
  // Opening a pipe would wait until somebody writes to it.
  if (std::filesystem::is_fifo(path)) throw UsageError(path.string(), "", "is a pipe");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(path.string(), "", "cannot be read");
  Sha256 hash;
  std::string buffer(size_t{1} << 16, '\0');
  while (in.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), in.gcount() > 0) {
    hash.update(std::string_view(buffer).substr(0, static_cast<size_t>(in.gcount())));
  }
  // A directory opens and then fails to read: it must not get the digest of an empty file.
  if (in.bad()) throw UsageError(path.string(), "", "cannot be read");
  return hash.hex();
}

}  // namespace cb
