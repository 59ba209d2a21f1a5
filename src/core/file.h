#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace cb {

// The whole file. Throws UsageError naming the file and the reason; refuses more than `at_most`
// bytes.
std::string read_file(const std::filesystem::path& path, size_t at_most = size_t{1} << 30);

// Writes beside the target, flushes to disk and renames, so that a reader or a crash never sees
// half a file and a full disk leaves the old one. Throws Error (runtime) naming the file and the
// reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content);

// Appends one line and flushes it to disk before returning. Throws Error.
void append_line_durably(const std::filesystem::path& path, std::string_view line);

}  // namespace cb
