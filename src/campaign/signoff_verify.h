#pragma once

#include <filesystem>
#include <vector>

#include "judge/signoff_data.h"

namespace cb {

// Compares every signed byte with what is there. With `trusted` keys, each signature must be by one
// of them, each of them must have signed, and whatever the last of these signatures does not cover
// counts as added. Throws UsageError if the directory cannot be read.
SignoffCheck verify_campaign(const std::filesystem::path& directory,
                             const std::vector<TrustedKey>& trusted);

// Names a signature's key if it is a trusted one; the signature is then valid, unless its file was
// changed. Returns true if the key is trusted.
bool name_key(Signoff& signoff, const std::vector<TrustedKey>& trusted);

}  // namespace cb
