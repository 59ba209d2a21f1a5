#pragma once

#include <string>
#include <vector>

#include "core/exit_code.h"

namespace cb {

struct VerifyOptions {
  std::string directory;          // or a bundle
  std::vector<std::string> keys;  // files
  bool allow_rejected = false;
  bool digests = false;
};

// Says first what the signatures are worth: 0 intact and all by listed keys, 1 changed, by another
// key or rejected, 3 no signature, no key listed, or later work that no listed key has signed.
ExitCode verify_signatures(const VerifyOptions& options);

}  // namespace cb
