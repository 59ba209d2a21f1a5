#pragma once

#include <filesystem>
#include <vector>

#include "judge/signoff_data.h"

namespace cb {

// Compares every byte that was signed with what is there. With `trusted` keys every signature must
// be by one of them, each of them must have signed, and what the last of these signatures does not
// cover was added. Throws UsageError if the directory cannot be read.
SignoffCheck verify_campaign(const std::filesystem::path& directory,
                             const std::vector<TrustedKey>& trusted);

// Names the key of a signature where it is a trusted one; valid then, unless it was changed.
// Whether it is one.
bool name_key(Signoff& signoff, const std::vector<TrustedKey>& trusted);

}  // namespace cb
