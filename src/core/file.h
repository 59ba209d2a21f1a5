#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace cb {

// Returns the whole file. Throws UsageError naming the file and the reason; refuses more than
// `at_most` bytes.
std::string read_file(const std::filesystem::path& path, size_t at_most = size_t{1} << 30);

// `yes` waits for the disk, so that the file survives a stop of the machine.
enum class Durable { no, yes };

// Writes a file beside the target, flushes it to disk and renames it: a reader or a crash never
// sees half a file, and a full disk leaves the old one. Follows symbolic links of this user and of
// root, and refuses those of others (path_end.h). Writes in place to anything that is not a regular
// file (a pipe, /dev/stdout), but never to a block device. kStandardOutput: standard_output.h.
// Throws Error (runtime) naming the file and the reason.
void write_file_atomically(const std::filesystem::path& path, std::string_view content,
                           Durable durable = Durable::yes);

// The same for what `fill` writes into a fresh empty file through its descriptor; the path names no
// pipe and no device. What `fill` throws goes on, and the old file stays.
void fill_file_atomically(const std::filesystem::path& path, const std::function<void(int)>& fill);
// Throws Error: what could not be written, the reason of that errno, and the next step.
[[noreturn]] void throw_not_written(const std::filesystem::path& path, int error);

// True if write_file_atomically() would give a fresh file this name: not for standard output, a
// pipe or a device, to which it adds.
bool is_replaced_by_writing(const std::filesystem::path& path);

// The name for standard output, as in most programs.
inline constexpr const char* kStandardOutput = "-";

// Says why write_file_atomically() would fail now; nothing if it would not. Creates and removes a
// file of our own beside the target. The user learns it before an hour of measuring, not after.
std::optional<std::string> why_not_writable(const std::filesystem::path& path);

// Appends one line and flushes it to disk before it returns. If that fails, the file is as before.
// Follows no link. Throws Error.
void append_line_durably(const std::filesystem::path& path, std::string_view line);

}  // namespace cb
