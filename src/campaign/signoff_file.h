#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "campaign/directory.h"
#include "core/ed25519.h"
#include "judge/signoff_data.h"

// The file of one signature. It is written in one way only (sorted keys, fixed blanks), so that
// even a changed blank is seen; "digest" is the sha256 of the document without digest and
// signature, which is also what an Ed25519 key signs.
namespace cb {

// The whole file; with a key it is signed by it, and names it in what is signed.
std::string signoff_text(Signoff signoff, const Ed25519Key* key);

// Throws UsageError for anything but a whole document of a known schema, role and verdict.
Signoff parse_signoff(std::string_view text, const std::string& file);

// What is wrong with the file itself: not as written, another digest, an invalid signature.
std::optional<std::string> signoff_problem(std::string_view text, const std::string& file);

// "signoffs/002-customer.json"
std::string signoff_name(int number, const std::string& role);

// "signoffs/002-customer.json" → "signoffs/002-customer.tsr", its time stamp.
std::string stamp_name(const std::string& signoff_file);

// The signatures' files in their order.
std::vector<std::string> signoff_files(const CampaignPaths& paths);

}  // namespace cb
