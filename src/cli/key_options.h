#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/ed25519.h"
#include "judge/signoff_data.h"

namespace cb {

// The options that name a private key.
struct KeyOptions {
  std::string key, passphrase_file;
};

void add_key_options(CLI::App& sub, KeyOptions& options, const char* what);

// Returns nothing if no key is named. Takes the passphrase from its file, or asks for it at a
// terminal. Throws UsageError.
std::optional<Ed25519Key> read_key(const KeyOptions& options);

// The public keys in these files. Throws UsageError.
std::vector<TrustedKey> trusted_keys(const std::vector<std::string>& files);

}  // namespace cb
