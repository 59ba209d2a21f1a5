#include "core/timestamp.h"

#include <ctime>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ts.h>

#include "core/error.h"

namespace cb {
namespace {

struct TsDeleter {
  void operator()(TS_RESP* p) const { TS_RESP_free(p); }
};

std::string hex_of(const ASN1_OCTET_STRING* text) {
  std::string out;
  for (int i = 0; i < ASN1_STRING_length(text); ++i)
    out += fmt::format("{:02x}", ASN1_STRING_get0_data(text)[i]);
  return out;
}

}  // namespace

TimeStamp read_time_stamp(std::string_view response, const std::string& file) {
  const auto* at = reinterpret_cast<const unsigned char*>(response.data());
  const std::unique_ptr<TS_RESP, TsDeleter> parsed(
      d2i_TS_RESP(nullptr, &at, static_cast<long>(response.size())));
  ERR_clear_error();
  if (!parsed)
    throw UsageError(file, "", "is no time-stamp response (RFC 3161): openssl ts -reply -in FILE");
  TS_TST_INFO* info = TS_RESP_get_tst_info(parsed.get());
  if (info == nullptr)
    throw UsageError(file, "", "holds no time stamp: its authority refused; ask again");
  TS_MSG_IMPRINT* imprint = TS_TST_INFO_get_msg_imprint(info);
  const ASN1_OBJECT* algorithm = nullptr;
  X509_ALGOR_get0(&algorithm, nullptr, nullptr, TS_MSG_IMPRINT_get_algo(imprint));
  if (OBJ_obj2nid(algorithm) != NID_sha256)
    throw UsageError(file, "", "is not over a SHA-256 digest: openssl ts -query -sha256 …");
  std::tm time{};
  if (ASN1_TIME_to_tm(TS_TST_INFO_get_time(info), &time) != 1)
    throw UsageError(file, "", "holds no time that can be read");
  return {hex_of(TS_MSG_IMPRINT_get_msg(imprint)), fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", time)};
}

}  // namespace cb
