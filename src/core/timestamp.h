#pragma once

#include <string>
#include <string_view>

namespace cb {

// What a time-stamp response (RFC 3161, a .tsr file) says. Who made it is not checked here: that
// needs the certificates of its authority, and `openssl ts -verify` does it.
struct TimeStamp {
  std::string sha256;  // of what was stamped, hex
  std::string at;      // ISO 8601, UTC
};

// Throws UsageError naming the file: no response, a refusal, or a digest other than SHA-256.
TimeStamp read_time_stamp(std::string_view response, const std::string& file);

}  // namespace cb
