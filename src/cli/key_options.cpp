#include "cli/key_options.h"

#include <array>
#include <filesystem>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "core/text.h"

namespace cb {
namespace {

// libcrypto asks without echo, and restores the terminal's echo if it is interrupted.
std::optional<std::string> ask_at_terminal(const std::string& file) {
  if (::isatty(STDIN_FILENO) == 0) return std::nullopt;
  std::array<char, 1024> buffer{};
  const std::string prompt = "Passphrase of " + terminal_safe(file) + ": ";
  const bool given =
      EVP_read_pw_string(buffer.data(), static_cast<int>(buffer.size()), prompt.c_str(), 0) == 0;
  const std::string out = buffer.data();
  OPENSSL_cleanse(buffer.data(), buffer.size());
  if (!given) throw UsageError(file, "", "was not opened: no passphrase was given");
  return out;
}

std::string first_line(const std::string& file) {
  constexpr size_t kMax = size_t{1} << 16;
  const std::string content = read_file(file, kMax);
  return content.substr(0, content.find_first_of("\r\n"));
}

}  // namespace

void add_key_options(CLI::App& sub, KeyOptions& options, const char* what) {
  sub.add_option("--key", options.key, what)->type_name("FILE");
  sub.add_option("--passphrase-file", options.passphrase_file,
                 "its first line is the passphrase of the key; else it is asked for at a terminal")
      ->type_name("FILE");
}

std::optional<Ed25519Key> read_key(const KeyOptions& options) {
  if (options.key.empty() && !options.passphrase_file.empty())
    throw UsageError("--passphrase-file", "", "is of no use without --key");
  if (options.key.empty()) return std::nullopt;
  const auto ask = [&](const std::string& file) -> std::optional<std::string> {
    if (options.passphrase_file.empty()) return ask_at_terminal(file);
    return first_line(options.passphrase_file);
  };
  return Ed25519Key(options.key, ask);
}

std::vector<TrustedKey> trusted_keys(const std::vector<std::string>& files) {
  std::vector<TrustedKey> out;
  for (const std::string& file : files)
    out.push_back({ed25519_public_key(file), std::filesystem::path(file).filename().string()});
  return out;
}

}  // namespace cb
