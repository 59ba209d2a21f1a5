#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cb {

std::string sha256_hex(std::string_view bytes);  // 64 lower-case hex digits
std::string sha256_hex_of_file(
    const std::filesystem::path& path);  // streamed; throws UsageError if unreadable

}  // namespace cb
