#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "core/ed25519.h"
#include "judge/signoff_data.h"

namespace cb {

// A private key on the command line.
struct KeyOptions {
  std::string key, passphrase_file;
};

void add_key_options(CLI::App& sub, KeyOptions& options, const char* what);

// Nothing where no key is named. A passphrase comes from its file, or is asked for at a terminal.
// Throws UsageError.
std::optional<Ed25519Key> read_key(const KeyOptions& options);

// The public keys of these files. Throws UsageError.
std::vector<TrustedKey> trusted_keys(const std::vector<std::string>& files);

}  // namespace cb
