#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/signoff_data.h"
#include "campaign/directory.h"

// The file of one signature. It is written in one way only (sorted keys, fixed blanks), so that
// even a changed blank is seen; "digest" is the sha256 of the document without digest and
// signature, which is also what an Ed25519 key signs.
namespace cb {

// The whole file. Signs with the private key where one is given; throws UsageError if it is none.
std::string signoff_text(const Signoff& signoff, const std::optional<std::filesystem::path>& key);

// Throws UsageError for anything but a whole document of a known schema.
Signoff parse_signoff(std::string_view text, const std::string& file);

// What is wrong with the file itself: not as written, another digest, an invalid signature.
std::optional<std::string> signoff_problem(std::string_view text, const std::string& file);

// "signoffs/002-customer.json"
std::string signoff_name(int number, const std::string& role);

// The signatures' files in their order, and the signatures read from them (throws UsageError for
// one that cannot be read).
std::vector<std::string> signoff_files(const CampaignPaths& paths);
std::vector<Signoff> read_signoffs(const CampaignPaths& paths);

}  // namespace cb
