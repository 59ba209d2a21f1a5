#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;  // OpenSSL's

namespace cb {

// A digest of bytes that come in pieces.
class Sha256 {
 public:
  Sha256();
  void update(std::string_view bytes);
  std::string hex();  // 64 lower-case hex digits, once and last

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

std::string sha256_hex(std::string_view bytes);
std::string sha256_hex_of_file(
    const std::filesystem::path& path);  // streamed; throws UsageError if unreadable

}  // namespace cb
