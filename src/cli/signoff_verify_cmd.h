#pragma once

#include <string>
#include <vector>

#include "core/exit_code.h"

namespace cb {

struct VerifyOptions {
  std::string directory;          // a campaign's directory, or a bundle of it
  std::vector<std::string> keys;  // files with public keys
  bool allow_rejected = false;
  bool digests = false;
};

// Prints first what the signatures are worth. Exit code 0: intact and all by listed keys. 1:
// changed, by another key, or rejected. 3: no signature, no key listed, or later work that no
// listed key has signed.
ExitCode verify_signatures(const VerifyOptions& options);

}  // namespace cb
