#pragma once

#include <filesystem>

namespace cb {

// Writes the campaign's files as one POSIX tar archive (gzipped where the name ends in .gz or
// .tgz) whose bytes depend on their names and contents alone: ordered, mode 0644, owned by 0:0,
// dated by the campaign's begin. Throws UsageError for links and special files below the
// directory, Error if the archive cannot be written.
void bundle_campaign(const std::filesystem::path& directory, const std::filesystem::path& archive);

}  // namespace cb
