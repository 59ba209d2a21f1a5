#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace cb {

// The whole file. Throws UsageError naming the file and the reason; refuses more than `at_most`
// bytes.
std::string read_file(const std::filesystem::path& path, size_t at_most = size_t{1} << 30);

// Whether a file also survives that the machine stops, for which the disk is waited for.
enum class Durable { no, yes };

// Writes beside the target, flushes to disk and renames, so that a reader or a crash never sees
// half a file and a full disk leaves the old one. Follows symbolic links of this user and of root,
// and refuses those of others (located.h); what is no regular file (a pipe, /dev/stdout) is written
// in place, but no block device; kStandardOutput is written to descriptor 1. Throws Error (runtime)
// naming the file and the reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           Durable durable = Durable::yes);

// The name that stands for standard output, as it does for most programs.
inline constexpr const char* kStandardOutput = "-";

// Why write_file_atomically() would fail now, found by creating and removing a file of our own
// beside the target; nothing if it would not. Known before an hour of measuring, not after it.
std::optional<std::string> why_not_writable(const std::filesystem::path& path);

// Appends one line and flushes it to disk before returning; where that fails the file is as before.
// Follows no link.
// Throws Error.
void append_line_durably(const std::filesystem::path& path, std::string_view line);

}  // namespace cb
