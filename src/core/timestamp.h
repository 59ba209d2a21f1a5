#pragma once

#include <string>
#include <string_view>

namespace cb {

// The contents of a time-stamp response (RFC 3161, a .tsr file). Its signer is not checked here:
// that needs the authority's certificates, and `openssl ts -verify` does it.
struct TimeStamp {
  std::string sha256;  // digest of the stamped data, hex
  std::string at;      // ISO 8601, UTC
};

// Throws UsageError naming the file if it is not a response, is a refusal, or has a digest other
// than SHA-256.
TimeStamp read_time_stamp(std::string_view response, const std::string& file);

}  // namespace cb
