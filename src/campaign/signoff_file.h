#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "campaign/directory.h"
#include "core/ed25519.h"
#include "judge/signoff_data.h"

// The file of one signature. There is only one way to write it (sorted keys, fixed blanks), so that
// even a changed blank is seen. "digest" is the sha256 of the document without digest and
// signature; an Ed25519 key signs that same text.
namespace cb {

// The text of the file. A key signs it, and is named in the signed part.
std::string signoff_text(Signoff signoff, const Ed25519Key* key);

// Throws UsageError unless the text is a whole document of a known schema, role and verdict.
Signoff parse_signoff(std::string_view text, const std::string& file);

// What is wrong with the file itself: not as written, another name, another digest, an invalid
// signature. Nothing if it is right.
std::optional<std::string> signoff_problem(std::string_view text, const std::string& file);

// "signoffs/002-customer.json"
std::string signoff_name(int number, const std::string& role);

// The time stamp of a signature: "signoffs/002-customer.json" gives "signoffs/002-customer.tsr".
std::string stamp_name(const std::string& signoff_file);

// The files of the signatures, in order.
std::vector<std::string> signoff_files(const CampaignPaths& paths);

}  // namespace cb
